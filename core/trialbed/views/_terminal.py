"""Tables for a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rich import table as rich_table
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from trialbed.views._figures import printable
from trialbed.views._table import Table, TableRow

LABEL_WIDTH = 26
COLUMN_WIDTH = 25
"""Holds a mean, its interval and a denominator of five digits."""
GAP = 2

UNLIMITED = 10_000


def print_tables(tables: Iterable[Table], stream: TextIO, *, explained: bool = True, ruled: bool = True) -> None:
    """Write tables for a terminal, or plain ones if the stream is not a terminal.

    A table that is wider than the terminal is folded: long texts go over several lines, and the columns stand in blocks
    below each other. No number is ever cut; a terminal narrower than one column is written beyond its edge. A file or a
    pipe has no width unless ``COLUMNS`` gives it one, and gets tables in full width.

    Args:
        explained: whether the legends are written too, below the notes.
        ruled: whether a line stands below the headings.
    """
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    width = console.width
    room = width if console.is_terminal or "COLUMNS" in os.environ else UNLIMITED
    for number, table in enumerate(tables):
        if number:
            console.print()
        while table.narrow is not None and _width(_widths([table.columns, *table.lines], folded=True)) > room:
            table = table.narrow
        in_corner = bool(table.rows) and not table.columns[0] and cell_len(table.title) <= LABEL_WIDTH
        columns = [table.title if in_corner else table.columns[0], *table.columns[1:]] if table.rows else []
        if table.title and not in_corner:
            console.print(Text(printable(table.title)), soft_wrap=True)
            if table.rows:
                console.print()
        # Headings of several words go over several lines before columns go into blocks.
        lines = [columns, *table.lines]
        widths = _widths(lines)
        if _width(widths) > room:
            widths = _widths(lines, folded=True)
        if _width(widths) > room:
            widths = [min(own, COLUMN_WIDTH if at else LABEL_WIDTH) for at, own in enumerate(_widths(lines))]
        for place, block in enumerate(_blocks(widths, table.pinned, room)):
            if place:
                console.print()
            console.width = max(width, _width(widths[index] for index in block))
            console.print(_block(columns, table.rows, widths, block, ruled=ruled))
            console.width = width
        notes = [*table.notes, *(table.legend if explained else ())]
        if table.rows and notes:
            console.print()
        for note in notes:
            # In a file or a pipe, a note is one line, for searching.
            console.print(Text(printable(note)), soft_wrap=room == UNLIMITED)


def _widths(lines: Sequence[Sequence[str]], *, folded: bool = False) -> list[int]:
    """Return the width of the longest text of each column; headings break at spaces if it is folded."""
    head, *rows = lines
    head = [max(text.split(), key=cell_len, default="") for text in head] if folded else head
    return [max(1, *(cell_len(printable(text)) for text in column)) for column in zip(head, *rows, strict=True)]


def _width(widths: Iterable[int]) -> int:
    return sum(width + GAP for width in widths) - GAP


def _blocks(widths: Sequence[int], pinned: int, room: int) -> Iterator[list[int]]:
    """Yield columns that fit side by side; every block has the labels and the pinned columns."""
    fixed = list(range(len(widths)))[: 1 + pinned]
    block = fixed
    for index in range(len(fixed), len(widths)):
        if block != fixed and _width(widths[place] for place in (*block, index)) > room:
            yield block
            block = fixed
        block = [*block, index]
    if block:
        yield block


def _block(
    columns: Sequence[str], rows: Sequence[TableRow], widths: Sequence[int], block: list[int], *, ruled: bool
) -> object:
    shown = rich_table.Table(
        box=SIMPLE_HEAD if ruled else None, show_edge=False, pad_edge=False, padding=(0, GAP - ruled, 0, 0)
    )
    for index in block:
        heading, width = Text(printable(columns[index])), widths[index]
        shown.add_column(heading, justify="right" if index else "left", width=width, overflow="fold")
    for row in rows:
        cells = [printable((row.label, *row.cells)[index]) for index in block]
        alarming = row.alarming and any(cells[1:])
        shown.add_row(*map(Text, cells), style="bold red" if alarming else "")
    return shown
