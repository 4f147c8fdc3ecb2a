"""Tables of verified vendors for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from trialbed.contracts import Reporter
from trialbed.views import Row, Sheet, print_columns, printable, widened
from trialbed_verify.verification import verification_sheets

ALARMING = ("failed", "not sent")
"""Rows in which any text at all is bad news."""


class VerificationReporter(Reporter):
    """Figures as rows and vendors as columns; a figure that was not observed is a dash."""

    def report(self, documents: Sequence[Mapping[str, Any]], stream: TextIO) -> None:
        """Write the tables of one verification, a model after the other."""
        console = widened(Console(file=stream, highlight=False, markup=False, emoji=False))
        for sheet in verification_sheets(documents):
            console.print(Text(printable(sheet.title)), soft_wrap=True)
            print_columns(console, [printable(name) for name in sheet.columns[1:]], _rows(sheet))
            console.print()
            for note in sheet.notes:
                console.print(Text(printable(note)))
            console.print()


def _rows(sheet: Sheet) -> list[Row]:
    return [Row(row[0], tuple(map(printable, row[1:])), alarming=row[0] in ALARMING) for row in sheet.rows]
