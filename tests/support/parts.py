"""A part of each room's files of tests, for runs that divide the work among them."""

from __future__ import annotations

from functools import cache
from pathlib import Path


def parse_part(text: str) -> tuple[int, int]:
    """Read "K/N": the K-th of N parts."""
    number, _, parts = text.partition("/")
    return int(number), int(parts)


def is_left_out(file: Path, room: Path, number: int, parts: int) -> bool:
    """Whether a file of tests is in other parts; of a room's few files each is in several, so that none is without."""
    files = _files(room)
    parts = min(parts, len(files))
    return files[file] % parts != (number - 1) % parts


@cache
def _files(room: Path) -> dict[Path, int]:
    """Return the files of tests below a folder, and the place of each among them."""
    return {file: place for place, file in enumerate(sorted(room.rglob("test_*.py")))}
