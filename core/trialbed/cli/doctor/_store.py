"""``bench doctor --store``: the damage in a store."""

from __future__ import annotations

from dataclasses import asdict

import click

from trialbed.cli.options import print_json
from trialbed.settings import store_file
from trialbed.store import StoreReport, verify_store

REMEDY = "restore a copy of the store; runs that are not named here may still be readable"

NAMES = {"gold answers": "answers to expected calls"}
"""Kinds of records, as documents name them -> their names for people, where those are others."""


def show_store(url_or_path: str | None, *, as_json: bool) -> int:
    """Check a store and print its problems; return the exit code.

    Args:
        url_or_path: None for the store of the state folder.
    """
    report = verify_store(url_or_path or store_file())
    if as_json:
        print_json(asdict(report))
    else:
        _print(report)
    return 1 if report.problems else 0


def _print(report: StoreReport) -> None:
    counts = ", ".join(f"{count:,} {NAMES.get(name, name)}" for name, count in report.counts.items())
    unused = f"; {report.unused:,} bodies are not in use" if report.unused else ""
    click.echo(f"{_mark(not report.problems)} store: {report.place}: {counts}{unused}")
    for problem in report.problems:
        click.echo(f"{_mark(False)} {problem}")
    if report.problems:
        click.echo(f"     {REMEDY}")


def _mark(good: bool) -> str:
    return click.style("ok  ", fg="green") if good else click.style("bad ", fg="red")
