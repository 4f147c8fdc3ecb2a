"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from trialbed.contracts import Reporter
from trialbed.views import print_columns, printable, widened
from trialbed_plugins.reporters._figures import rows
from trialbed_plugins.reporters._notes import heading, notes

Documents = Sequence[Mapping[str, Any]]


class TableReporter(Reporter):
    """Figures as rows and frameworks as columns, as many side by side as the width holds, and notes below.

    Plain where the stream is not a terminal; no number is ever cut.
    """

    def report(self, documents: Documents, stream: TextIO) -> None:
        """Write the tables of one run."""
        if not documents:
            return
        console = widened(Console(file=stream, highlight=False, markup=False, emoji=False))
        console.print(Text(heading(documents[0])), soft_wrap=True)
        names = [printable(document["metadata"]["agent_name"]) for document in documents]
        print_columns(console, names, rows(documents))
        console.print()
        for note in notes(documents):
            console.print(Text(note))
