"""Small tables of text: for a terminal, for Markdown, and records for CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from trialbed.errors import UsageError

UNKNOWN = "-"
"""Stands where nothing is known."""


GAP = 3
"""Between two columns."""


@dataclass(frozen=True)
class Sheet:
    """A table with a title above and notes below; the first column holds names, the others figures."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def number(value: float | None, digits: int = 4) -> str:
    """A figure: whole and with separators from 1000 on, else with so many digits after the point."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}f}"


def estimate(found: Mapping[str, Any] | None, digits: int = 4) -> str:
    """A figure with its interval."""
    if found is None or found["value"] is None:
        return UNKNOWN
    if found["low"] is None:
        return number(found["value"], digits)
    return f"{number(found['value'], digits)} [{number(found['low'], digits)}, {number(found['high'], digits)}]"


def print_sheets(sheets: Iterable[Sheet], stream: TextIO) -> None:
    """Write tables for a terminal; plain where the stream is none, and as wide as the figures need."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    narrow = console.width
    for sheet in sheets:
        console.width = max(narrow, _width(sheet))
        console.print(Text(_printable(sheet.title)), soft_wrap=True)
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for column, title in enumerate(sheet.columns):
            table.add_column(_printable(title), justify="right" if column else "left", no_wrap=True)
        for row in sheet.rows:
            table.add_row(*(Text(_printable(cell)) for cell in row))
        if sheet.rows:
            console.print(table)
        console.width = narrow
        for note in sheet.notes:
            console.print(Text(_printable(note)))
        console.print()


def markdown(sheets: Iterable[Sheet]) -> str:
    """Tables as Markdown."""
    return "\n".join(line for sheet in sheets for line in _markdown(sheet))


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    """Records as CSV, with the keys of the first as columns; what is None is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def write_text(path: Path, text: str, option: str) -> None:
    """Write a file that an option names.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; name another file with {option}") from error


def _width(sheet: Sheet) -> int:
    """The columns that a table needs on a terminal."""
    widest = [max(map(len, column)) for column in zip(sheet.columns, *sheet.rows, strict=True)]
    return sum(widest) + GAP * len(widest)


def _markdown(sheet: Sheet) -> list[str]:
    lines = [f"## {_cell(sheet.title)}", ""]
    if sheet.rows:
        lines += [_line(sheet.columns), _line(["---", *["---:"] * (len(sheet.columns) - 1)])]
        lines += [*map(_line, sheet.rows), ""]
    return lines + [line for note in sheet.notes for line in (_cell(note), "")]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return _printable(text).replace("\\", "\\\\").replace("|", "\\|")


def _printable(text: str) -> str:
    """The text without characters that would steer a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)
