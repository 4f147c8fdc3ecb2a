"""The constants of the code, which Hypothesis tries as examples, read once for all processes that run tests."""

from __future__ import annotations

import sys

import pytest
from support.turns import in_turn


def read_constants_in_turn(config: pytest.Config) -> None:
    """Let each of several processes read the constants of another part of the modules, where none has done so yet.

    Hypothesis reads those of all modules when the tests are found. On a fresh checkout each process would read each.
    """
    try:
        from hypothesis.internal.constants_ast import constants_from_module, is_local_module_file
    except ImportError:  # another release of Hypothesis, which then reads them as it does
        return
    for module in in_turn(config, [*sys.modules.values()]):
        file = getattr(module, "__file__", None)
        if file is not None and is_local_module_file(file):
            constants_from_module(module)
