"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trialbed.contracts import Reporter
from trialbed_plugins.reporters._figures import Row, printable, rows
from trialbed_plugins.reporters._notes import heading, notes

Documents = Sequence[Mapping[str, Any]]

LABEL_WIDTH = 22
COLUMN_WIDTH = 25
"""Holds a mean, its interval and a denominator of five digits."""
GAP = 2


class TableReporter(Reporter):
    """Figures as rows and frameworks as columns, as many side by side as the width holds, and notes below.

    Plain where the stream is not a terminal; no number is ever cut.
    """

    def report(self, documents: Documents, stream: TextIO) -> None:
        """Write the tables of one run."""
        if not documents:
            return
        console = Console(file=stream, highlight=False, markup=False, emoji=False)
        console.width = max(console.width, LABEL_WIDTH + COLUMN_WIDTH + 2 * GAP)
        console.print(Text(heading(documents[0])), soft_wrap=True)
        figures = rows(documents)
        for first, last in _blocks(len(documents), console.width):
            console.print()
            console.print(_table(documents[first:last], figures, first, last))
        console.print()
        for note in notes(documents):
            console.print(Text(note))


def _blocks(count: int, width: int) -> Iterator[tuple[int, int]]:
    """Ranges of frameworks that fit side by side."""
    size = max(1, (width - LABEL_WIDTH - GAP) // (COLUMN_WIDTH + GAP))
    for first in range(0, count, size):
        yield first, min(first + size, count)


def _table(documents: Documents, figures: Iterable[Row], first: int, last: int) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP, 0, 0))
    table.add_column("", width=LABEL_WIDTH, overflow="fold")
    for document in documents:
        name = printable(document["metadata"]["agent_name"])
        table.add_column(Text(name), justify="right", width=COLUMN_WIDTH, overflow="fold")
    for row in figures:
        cells = row.cells[first:last]
        table.add_row(Text(row.label), *map(Text, cells), style="bold red" if row.alarming and any(cells) else "")
    return table
