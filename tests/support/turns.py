"""Work that every process of one run of tests would do alike, and whose results it keeps for the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")


def in_turn(config: pytest.Config, parts: Sequence[T]) -> Sequence[T]:
    """Return the parts of the work, from another one on for each of several processes; none where there is only one.

    So they begin at different ones, and find the others' results when they come to them.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return ()
    first = len(parts) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    return [*parts[first:], *parts[:first]]
