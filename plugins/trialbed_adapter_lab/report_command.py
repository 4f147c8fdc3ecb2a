"""Options, progress and report files that ``bench fidelity`` and ``bench releases`` share."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
from pydantic import ValidationError

from trialbed.cli.options import FILE, Decorated, option, print_json
from trialbed.errors import DataError
from trialbed.files import read_bytes, write_text
from trialbed.records import Record

if TYPE_CHECKING:
    from trialbed.views import Table

THEMES = (
    *("arguments", "calls", "claims", "conditions", "conversation", "faults", "faulty_answers", "history", "hygiene"),
    *("invariants", "isolation", "limits", "mistakes", "patience", "policies", "schemas", "sizes", "traffic"),
)
"""The names of the themes of probes; to take them from the probes would load the server."""

FORMATS = ("table", "markdown", "json")

R = TypeVar("R", bound=Record)


def theme_option(help_text: str) -> Callable[[Decorated], Decorated]:
    """The option ``--part`` for themes of probes, which may be repeated."""
    return option("--part", "parts", type=click.Choice(THEMES), multiple=True, help=help_text)


def choose_themes(chosen: Collection[str]) -> tuple[str, ...]:
    """Return the themes that were chosen, in their order; all if none was."""
    return tuple(theme for theme in THEMES if not chosen or theme in chosen)


def output_option(help_text: str) -> Callable[[Decorated], Decorated]:
    """The option ``--output``."""
    return option("-o", "--output", envvar=None, type=FILE, help=help_text)


@contextmanager
def show_steps() -> Iterator[Callable[[str], None]]:
    """Show steps on standard error, as one changing line on a terminal, otherwise on separate lines."""
    if not sys.stderr.isatty():
        yield lambda text: click.echo(text, err=True)
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield status.update


def print_report(report: R, form: str, tables: Callable[..., Sequence[Table]]) -> None:
    """Print a report in any of ``FORMATS``.

    Args:
        tables: returns its tables; with ``whole=False``, tables for a terminal.
    """
    from trialbed.views import markdown, print_tables

    if form == "json":
        print_json(report.model_dump(mode="json"))
    elif form == "markdown":
        click.echo(markdown(tables(report)), nl=False)
    else:
        print_tables(tables(report, whole=False), sys.stdout)


def read_report(kind: type[R], path: Path, command: str) -> R:
    """Read a report that a command's ``--output`` wrote."""
    try:
        return kind.model_validate_json(read_bytes(path))
    except (ValidationError, OSError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise DataError(f"{path}: not a report of {command} --output: {reason}") from error


def write_report(path: Path, report: Record) -> None:
    """Write the report to the file that ``--output`` names, with each entry of its lists on a line, and say so."""
    dumps = partial(json.dumps, ensure_ascii=False, allow_nan=False)
    document = json.loads(report.model_dump_json(exclude_defaults=True))
    for name, value in document.items():
        document[name] = "[\n" + ",\n".join(map(dumps, value)) + "\n]" if isinstance(value, list) else dumps(value)
    fields = ",\n".join(f'"{name}": {text}' for name, text in document.items())
    write_text(path, f"{{\n{fields}\n}}\n", "--output")
    click.echo(f"written: {path}", err=True)
