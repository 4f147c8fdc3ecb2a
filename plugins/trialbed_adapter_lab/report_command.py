"""What ``bench fidelity`` and ``bench releases`` share: parts, formats, steps, and where a report goes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, TypeVar

import click

from trialbed.cli.options import FILE, Decorated, option, print_json
from trialbed.records import Record

FORMATS = ("table", "markdown", "json")

P = TypeVar("P", bound=str)


R = TypeVar("R", bound=Record)


def part_option(parts: Sequence[str], help_text: str) -> Callable[[Decorated], Decorated]:
    """The option ``--part``, which may be repeated."""
    return option("--part", "parts", type=click.Choice(parts), multiple=True, help=help_text)


def output_option(help_text: str) -> Callable[[Decorated], Decorated]:
    """The option ``--output``."""
    return option("-o", "--output", envvar=None, type=FILE, help=help_text)


def choose_parts(parts: Sequence[P], chosen: Collection[str]) -> tuple[P, ...]:
    """Return the parts that were chosen, in their own order; all where none was."""
    return tuple(part for part in parts if not chosen or part in chosen)


@contextmanager
def show_steps() -> Iterator[Callable[[str], None]]:
    """Show steps on standard error: one changing line on a terminal, a line each elsewhere."""
    if not sys.stderr.isatty():
        yield lambda text: click.echo(text, err=True)
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield status.update


def print_report(
    report: R, form: str, *, markdown: Callable[[R], str], write_table: Callable[[R, TextIO], None]
) -> None:
    """Print a report in one of ``FORMATS``."""
    if form == "json":
        print_json(report.model_dump(mode="json"))
    elif form == "markdown":
        click.echo(markdown(report), nl=False)
    else:
        write_table(report, sys.stdout)


def write_file(path: Path, text: str) -> None:
    """Write what ``--output`` asks for, and say so.

    Raises:
        UsageError: it cannot be written.
    """
    from trialbed.files import write_text

    write_text(path, text, "--output")
    click.echo(f"written: {path}", err=True)
