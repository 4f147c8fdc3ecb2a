"""The form of a printed result: ``--format``, lists and documents."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import Decorated, escape_controls, plain_option

if TYPE_CHECKING:
    from trialbed.report import Report

HELP = "Format of what is printed. [default: table]"

RUN_FORMATS = ("table", "json", "csv", "markdown", "html", "junit")
"""The formats of a run's results; other reporters' formats go by the reporters' names."""


def run_format_option(command: Decorated) -> Decorated:
    """Return the option for a command that prints the results of a run."""
    return plain_option("--format", "form", metavar=f"[{'|'.join(RUN_FORMATS)}|REPORTER]", help=HELP)(command)


def format_option(*formats: str) -> Callable[[Decorated], Decorated]:
    """Return the option for a command that prints a result in these formats; its value is None by default."""
    return plain_option("--format", "form", type=click.Choice(formats), help=HELP)


def chosen_format(form: str | None, *, as_json: bool) -> str:
    """Return the format that is asked for, by ``--format`` or by ``--json``.

    Raises:
        UsageError: they ask for different ones.
    """
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} ask for different formats; give one of them")
    return "json" if as_json else form or "table"


def records_text(form: str, tables: Sequence[Any], records: Sequence[Mapping[str, Any]], title: str) -> str:
    """Return tables as ``markdown`` or ``html``, or the records behind them as ``csv``.

    Args:
        title: of the page, for ``html``.
    """
    from trialbed.views import csv_text, html_page, markdown

    if form == "csv":
        return csv_text(records)
    return markdown(tables) if form == "markdown" else html_page(title, tables)


def print_list(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a list of words in columns."""
    from rich.console import Console
    from rich.table import Table

    from trialbed.views import printable

    table = Table(box=None, pad_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*map(printable, row))
    console: Any = Console(highlight=False, markup=False, soft_wrap=False)
    console.print(table)


def print_documents(report: Report) -> None:
    """Write the documents of all frameworks on stdout as a list in JSON, trial by trial."""
    from trialbed.report import document_parts, each_document

    stdout, before = sys.stdout.buffer, b"[\n  "
    for document, entries in each_document(report):
        stdout.write(before)
        for part in document_parts(document, entries):
            stdout.write(escape_controls(part.decode()).encode().replace(b"\n", b"\n  "))
        before = b",\n  "
    stdout.write(b"\n]\n")
    stdout.flush()
