"""Figures as rows and what they are about as columns, as many side by side as the width holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

LABEL_WIDTH = 22
COLUMN_WIDTH = 25
"""Holds a mean, its interval and a denominator of five digits."""
GAP = 2
LARGE = 100


@dataclass(frozen=True)
class Row:
    """One figure of every framework; ``alarming`` where any text at all is bad news."""

    label: str
    cells: tuple[str, ...]
    alarming: bool = False


def compact(value: float) -> str:
    """A figure at three significant digits, whole and with separators from 100 on."""
    return f"{value:,.0f}" if abs(value) >= LARGE else f"{value:.3g}"


def printable(text: str) -> str:
    """The text without characters that would steer a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


def widened(console: Console) -> Console:
    """The console, wide enough for one column: no number is ever cut."""
    console.width = max(console.width, LABEL_WIDTH + COLUMN_WIDTH + 2 * GAP)
    return console


def print_columns(console: Console, names: Sequence[str], rows: Sequence[Row]) -> None:
    """Print the rows' cells under these names, in blocks that fit."""
    for first, last in _blocks(len(names), console.width):
        console.print()
        console.print(_table(names[first:last], rows, first, last))


def _blocks(count: int, width: int) -> Iterator[tuple[int, int]]:
    """Ranges of columns that fit side by side."""
    size = max(1, (width - LABEL_WIDTH - GAP) // (COLUMN_WIDTH + GAP))
    for first in range(0, count, size):
        yield first, min(first + size, count)


def _table(names: Sequence[str], rows: Sequence[Row], first: int, last: int) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP, 0, 0))
    table.add_column("", width=LABEL_WIDTH, overflow="fold")
    for name in names:
        table.add_column(Text(name), justify="right", width=COLUMN_WIDTH, overflow="fold")
    for row in rows:
        cells = row.cells[first:last]
        table.add_row(Text(row.label), *map(Text, cells), style="bold red" if row.alarming and any(cells) else "")
    return table
