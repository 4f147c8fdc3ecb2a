"""``bench doctor --store``: the damage in a store."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from trialbed.settings import store_file
from trialbed.store import StoreReport, verify_store

REMEDY = "restore a copy of the store; runs that are not named here can still be read"


def show_store(url_or_path: str | None, *, as_json: bool) -> int:
    """Check a store and print its problems; return the exit code.

    Args:
        url_or_path: None for the store of the state folder.
    """
    report = verify_store(url_or_path or store_file())
    if as_json:
        click.echo(json.dumps(asdict(report), indent=2))
    else:
        _print(report)
    return 1 if report.problems else 0


def _print(report: StoreReport) -> None:
    counts = ", ".join(f"{count:,} {name}" for name, count in report.counts.items())
    unused = f"; {report.unused:,} bodies are not in use" if report.unused else ""
    click.echo(f"{_mark(not report.problems)} store: {report.place}: {counts}{unused}")
    for problem in report.problems:
        click.echo(f"{_mark(False)} {problem}")
    if report.problems:
        click.echo(f"     {REMEDY}")


def _mark(good: bool) -> str:
    return click.style("ok  ", fg="green") if good else click.style("bad ", fg="red")
