"""The suites by name, and their test sets as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from trialbed.errors import UsageError
from trialbed.suggestions import closest, did_you_mean
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
        close = did_you_mean(closest(name, SUITES))
        raise UsageError(f"there is no suite {name!r}{close} The suites are {', '.join(SUITES)}")
    return SUITES[name]


def select_suites(names: Sequence[str]) -> list[Suite]:
    """Return the suites of these names, each once.

    Raises:
        UsageError: there is no such suite.
    """
    return [suite(name) for name in dict.fromkeys(names)]


def write_test_set(names: Sequence[str], path: Path) -> int:
    """Write the cases of these suites as a test set, one at a time, and return their number.

    Raises:
        UsageError: there is no such suite, or the file cannot be written.
    """
    chosen = select_suites(names)
    try:
        with path.open("wb") as file:
            for one in chosen:
                for made in one.cases():
                    file.write(orjson.dumps(made) + b"\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
    return sum(one.size for one in chosen)
