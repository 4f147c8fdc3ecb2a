"""A part of each file's tests, for runs that divide the work among them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")


def parse_part(text: str) -> tuple[int, int]:
    """Read "K/N": the K-th of N parts."""
    number, _, parts = text.partition("/")
    return int(number), int(parts)


def take_part(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out, and say so, what is in the other parts of this run's tests."""
    number, parts = config.getoption("--part")
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    others = [item for tests in files.values() for item in in_other_parts(tests, number, parts)]
    if others:
        config.hook.pytest_deselected(items=others)
        left_out = set(others)
        items[:] = [item for item in items if item not in left_out]


def in_other_parts(tests: Sequence[T], number: int, parts: int) -> list[T]:
    """Of one file, those in other parts; of few tests each is in several parts, so that none is without."""
    parts = min(parts, len(tests))
    return [item for place, item in enumerate(tests) if place % parts != (number - 1) % parts]
