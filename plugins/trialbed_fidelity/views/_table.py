"""Fidelity on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trialbed.views import printable
from trialbed_fidelity import FidelityReport
from trialbed_fidelity.views._notes import heading, notes
from trialbed_fidelity.views._sections import Section, sections

LABEL_WIDTH = 28
COLUMN_WIDTH = 23
GAP = 2


def write_table(report: FidelityReport, stream: TextIO) -> None:
    """Write a report: frameworks as columns, as many side by side as the width holds, and notes below.

    Plain where the stream is not a terminal; no figure is ever cut.
    """
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    console.width = max(console.width, LABEL_WIDTH + 2 * (COLUMN_WIDTH + GAP) + GAP)
    console.print(Text(heading(report.conditions)))
    made = sections(report)
    for shown in _blocks(len(report.frameworks), console.width):
        for section in made:
            console.print()
            console.print(_table(report, section, shown))
    console.print()
    for note in notes(report):
        console.print(Text(note))


def _blocks(count: int, width: int) -> Iterator[list[int]]:
    """Indices of frameworks that fit side by side; the first one, the zero point, is in every block."""
    size = max(1, (width - LABEL_WIDTH - GAP) // (COLUMN_WIDTH + GAP) - 1)
    others = range(1, count)
    for first in range(0, max(1, len(others)), size):
        yield [0, *others[first : first + size]]


def _table(report: FidelityReport, section: Section, shown: list[int]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP, 0, 0))
    table.add_column(Text(section.title), width=LABEL_WIDTH, overflow="fold")
    for index in shown:
        name = printable(report.frameworks[index].framework)
        table.add_column(Text(name), justify="right", width=COLUMN_WIDTH, overflow="fold")
    for row in section.rows:
        cells = [Text(row.cells[index]) for index in shown]
        table.add_row(Text(row.label), *cells, style="bold red" if row.alarming else "")
    return table
