"""The code of tests, compiled once for all processes that run them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.assertion import rewrite
from support.turns import in_turn


def rewrite_in_turn(config: pytest.Config) -> None:
    """Let each of several processes rewrite the assertions of another part of the tests, where none has done so yet.

    All of them import all tests at the same time. On a fresh checkout each would rewrite each file.
    """
    for file in in_turn(config, [*_files(config)]):
        compiled = rewrite.get_cache_dir(file) / f"{file.stem}{rewrite.PYC_TAIL}"
        if not compiled.exists() and rewrite.try_makedirs(compiled.parent):
            with contextlib.suppress(SyntaxError):  # it is told where the file is imported
                source, code = rewrite._rewrite_test(file, config)
                rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, source, compiled)


def _files(config: pytest.Config) -> Iterator[Path]:
    for name in config.args:
        path = config.invocation_params.dir / name.partition("::")[0]
        yield from sorted(path.rglob("test_*.py"))
