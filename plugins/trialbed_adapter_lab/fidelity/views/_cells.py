"""Figures of fidelity as text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from trialbed.records import Json
from trialbed.views import UNKNOWN, TableRow, printable

Part = TypeVar("Part")

HALF_PERCENT = 0.005
"""Below it, a share would be rounded to none."""
LONGEST = 60
"""Characters of a value that a cell shows."""


def line(label: str, parts: Sequence[Part | None], cell: Callable[[Part], str], *, alarming: bool = False) -> TableRow:
    """Return a row: a cell for each framework's part, a dash where it is missing."""
    return TableRow(label, tuple(UNKNOWN if part is None else cell(part) for part in parts), alarming=alarming)


def with_added(size: int, added: int) -> str:
    """Return a size, and its part beyond the reference's."""
    return f"{size:,} ({added:+,})"


def share(whole: int, added: int) -> str:
    """Return the addition to a size, and its share of the size without it."""
    plain = whole - added
    if not plain or not added:
        return f"{added:+,}"
    rounded = f"{100 * added / plain:+.0f} %" if abs(added / plain) >= HALF_PERCENT else "<1 %"
    return f"{added:+,} ({rounded})"


def of(count: int, total: int) -> str:
    """Return a number out of a total, such as ``3 of 5``."""
    return f"{count:,} of {total:,}"


def some(count: int) -> str:
    """Return a number; zero as a word."""
    return f"{count:,}" if count else "none"


def value(item: Json) -> str:
    """Return a JSON value in one line, cut if it is long."""
    text = printable(json.dumps(item, ensure_ascii=False))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def tally(names: Iterable[str]) -> str:
    """Return every name, with how often it is there where that is more than once; ``none`` for no names."""
    counts = Counter(names)
    return ", ".join(name if count == 1 else f"{name} ({count})" for name, count in counts.items()) or "none"
