"""The suites by name, and their test sets as files."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from trialbed.errors import UsageError
from trialbed_verify.suites import (
    _constraints,
    _leaks,
    _long_context,
    _multi_turn,
    _parameters,
    _refusals,
    _schema_torture,
    _triggering,
)
from trialbed_verify.suites._suite import Suite

SUITES: Mapping[str, Suite] = {
    module.SUITE.name: module.SUITE
    for module in (
        _triggering,
        _constraints,
        _refusals,
        _leaks,
        _schema_torture,
        _multi_turn,
        _long_context,
        _parameters,
    )
}


def suite(name: str) -> Suite:
    """The suite of this name.

    Raises:
        UsageError: there is none.
    """
    if name not in SUITES:
        close = difflib.get_close_matches(name, SUITES, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UsageError(f"there is no suite {name!r}; {hint}The suites are {', '.join(SUITES)}")
    return SUITES[name]


def write_test_set(names: Sequence[str], path: Path) -> None:
    """Write the cases of these suites as a test set, one at a time; a name that is repeated counts once.

    Raises:
        UsageError: there is no such suite, or the file cannot be written.
    """
    chosen = [suite(name) for name in dict.fromkeys(names)]
    try:
        with path.open("wb") as file:
            for one in chosen:
                for made in one.cases():
                    file.write(orjson.dumps(made) + b"\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
