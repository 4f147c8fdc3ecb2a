"""``bench doctor --store``: the damage in a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial

import click

from trialbed.cli.options import print_json
from trialbed.settings import data_dir, store_file
from trialbed.store import StoreReport, open_store, verify_store

REMEDY = "restore a copy of the store; runs that are not named here may still be readable"
REMAKE = "no trial is damaged; DELETE FROM reports in the database has the figures made anew from the trials"

NAMES = {"gold answers": "answers to expected calls"}
"""Kinds of records, as documents name them -> their names for people, where those are others."""


def show_store(url_or_path: str | None, *, as_json: bool) -> int:
    """Check a store and print its problems; return the exit code.

    Args:
        url_or_path: None for the store of the state folder.
    """
    place = url_or_path or store_file()
    report = verify_store(place)
    remedy = REMEDY
    if not report.problems:  # else a trial may be one that cannot be read
        report, remedy = replace(report, problems=tuple(_wrong_reports(place))), REMAKE
    if as_json:
        print_json(asdict(report))
    else:
        _print(report, remedy)
    return 1 if report.problems else 0


def _wrong_reports(place: str) -> Iterator[str]:
    """Yield the runs whose report is not what their trials give."""
    from trialbed.catalogs import known_queries
    from trialbed.plugins import installed_listeners
    from trialbed.report.kept import difference_of_kept

    with open_store(place) as reader:
        for run in reader.runs():
            if run.record.kind == "frameworks":
                found = difference_of_kept(run, partial(known_queries, run.config, data_dir()), installed_listeners())
                if found:
                    yield f"the stored report of run {run.run_id!r} is not what its trials give: {found}"


def _print(report: StoreReport, remedy: str) -> None:
    counts = ", ".join(f"{count:,} {NAMES.get(name, name)}" for name, count in report.counts.items())
    unused = f"; {report.unused:,} bodies are not in use" if report.unused else ""
    click.echo(f"{_mark(not report.problems)} store: {report.place}: {counts}{unused}")
    for problem in report.problems:
        click.echo(f"{_mark(False)} {problem}")
    if report.problems:
        click.echo(f"     {remedy}")


def _mark(good: bool) -> str:
    return click.style("ok  ", fg="green") if good else click.style("bad ", fg="red")
