"""Differences between documents of runs that measured the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TIMES = ("time", "timestamp", "rate", "duration")
"""Parts of the names of keys whose values are times, or follow from some."""

CHANCE = {"cached", "cached_calls", "first", "first_trials", "run_id", "server_url", "started_at", "trial"}
"""Keys whose values differ from run to run on one machine, too: tokens, and the order of trials."""


def differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """The places in which two documents differ, but for times."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            if key not in CHANCE and not any(name in key for name in TIMES):
                yield from differences(one.get(key), other.get(key), f"{place}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, f"{place}[{number}]")
    elif one != other:
        yield f"{place}: {one!r:.100} and {other!r:.100}"
