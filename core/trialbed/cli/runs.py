"""``bench runs``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import json_option, plain_option, print_json
from trialbed.cli.stored import store_option

if TYPE_CHECKING:
    from trialbed.records import RunStatus
    from trialbed.store import StoredRun

JUDGED = "sopr_score"

STATUSES = ("running", "interrupted", "incomplete", "finished")

EPILOG = """\b
Examples:
  bench runs
  bench runs --framework langgraph
  bench runs --tag nightly --limit 50
  bench runs remove 20260101T120000
"""


@click.group("runs", epilog=EPILOG, invoke_without_command=True)
@plain_option(
    "-f",
    "--framework",
    metavar="NAME",
    help="Only runs of this framework: all profiles and releases, or the named ones.",
)
@plain_option("-m", "--model", metavar="NAME", help="Only runs of this model.")
@plain_option("-d", "--dataset", metavar="NAME", help="Only runs of this dataset or test set.")
@plain_option("--tag", "tags", multiple=True, metavar="TAG", help="Only runs with this tag; repeatable.")
@plain_option("--status", type=click.Choice(STATUSES), help="Only runs of this status.")
@plain_option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Number of runs to list.")
@store_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    framework: str | None,
    model: str | None,
    dataset: str | None,
    tags: tuple[str, ...],
    status: RunStatus | None,
    limit: int,
    store: str | None,
    as_json: bool,
) -> None:
    """List the runs in the store, newest first.

    Show one with bench show RUN, and compare two with bench compare RUN RUN.
    """
    if context.invoked_subcommand is not None:
        return
    from trialbed.store import open_store

    is_filtered = any((framework, model, dataset, status, tags))
    with open_store(store) as reader:
        # One more than are shown, to know whether there are more.
        found = reader.runs(
            framework=framework, model=model, dataset=dataset, status=status, tags=tags, limit=limit + 1
        )
        rows = [_entry_of(run) for run in found[:limit]]
        if as_json:
            print_json(rows)
        else:
            _print(rows, reader.place, more=len(found) > limit, is_filtered=is_filtered)


def _entry_of(run: StoredRun) -> dict[str, Any]:
    """Return a run's entry in the list.

    ``trials`` counts the planned ones. ``sopr_score`` has the mean of each framework, or None if it is not known or is
    over other queries than the other frameworks'. ``success_rate`` belongs to an endpoint in a verification: its share
    of valid answers, which are not judged.
    """
    config = run.config
    uneven = run.status != "finished" and len(config.frameworks) > 1
    answered, failed, means = zip(*_figures(run), strict=True)
    return {
        "run_id": run.run_id,
        "created_at": run.created_at.isoformat(),
        "status": run.status,
        **{name: getattr(config, name) for name in ("frameworks", "dataset", "dataset_file", "test_set")},
        "model": ", ".join(config.models),
        "judge": config.judge,
        "queries": len(config.query_ids),
        "repeat": config.repeat,
        "trials": run.record.planned,
        "answered": sum(answered),
        "failed": sum(failed),
        **{name: getattr(run, name) for name in ("overall_time", "tags", "note")},
        "sopr_score": {name: None if uneven else mean for name, mean in zip(config.frameworks, means, strict=True)},
        "success_rate": {endpoint.label: endpoint.success_rate for endpoint in run.record.endpoints},
    }


def _figures(run: StoredRun) -> Iterator[tuple[int, int, float | None]]:
    """Yield the answered and failed trials of a run's frameworks, and their mean of ``sopr_score``.

    The mean is over the trials that were measured, failed ones as 0; None for a void row.
    """
    if (found := run.headline()) is not None:
        yield from found.values()
        return
    from trialbed.report import read_report

    for own in read_report(run).frameworks:
        mean = None if own.integrity.void else own.scores[JUDGED].value
        yield own.counts.answered, own.counts.failed, mean


@command.command("remove", epilog="Example: bench runs remove 20260101T120000 20260102")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@store_option
@json_option
def remove(runs: tuple[str, ...], store: str | None, as_json: bool) -> None:
    """Remove runs and their data from the store.

    A run is its id, the beginning of one, or latest. Result documents stay in their folder. The store is compacted to
    make its file smaller.
    """
    from trialbed.errors import DataError, UsageError
    from trialbed.settings import store_file
    from trialbed.store import Store, open_store

    place = store or store_file()
    with open_store(place) as reader:
        found = {run.run_id: run for run in map(reader.run, runs)}
        trials = {run.run_id: run.ends().total() for run in found.values()}
    for run in found.values():
        if run.status == "running":
            raise UsageError(f"run {run.run_id} is still running; stop it first")
    with Store.open(place) as opened:
        for run in found.values():
            with ExitStack() as locks:
                # Under its locks: meanwhile the command that continues it might begin.
                for name in {run.record.config_digest, run.run_id}:
                    locks.enter_context(opened.lock(name))
                opened.discard_run(run.run_id)
        try:
            opened.compact()
        except DataError as error:
            click.echo(f"Warning: the store was not compacted: {error}", err=True)
    if as_json:
        print_json([{"run_id": run_id, "trials": trials[run_id]} for run_id in found])
        return
    for run_id in found:
        click.echo(f"removed: {run_id} ({trials[run_id]} trial{'s' * (trials[run_id] != 1)})")


COLUMNS = ("run", "status", "dataset", "tasks", "model", "trials", "framework", "solved")
LEFT_OUT = ("dataset", "tasks", "model")
"""Columns to omit on narrow terminals; the end of a run and its number of trials matter more."""


def _print(rows: Sequence[dict[str, Any]], place: str, *, more: bool, is_filtered: bool) -> None:
    from trialbed.views import Table, print_tables

    if not rows:
        click.echo(f"No runs in {place} match." if is_filtered else f"No runs in {place} yet; `bench run` makes one.")
        return
    notes = [
        *_tags_and_notes(rows),
        "trials: those without a failure, of all. solved: the mean over measured trials; failed ones count as 0.",
    ]
    if any(row["success_rate"] for row in rows):
        notes.append("answered: of a verification, the share of its requests that got a valid answer.")
    if more:
        notes.append("There are more runs; --limit shows them.")
    notes.append(f"Show one with `bench show {rows[0]['run_id']}`, or the newest with `bench show latest`.")
    lines = [line for row in rows for line in _lines(row)]
    table, runs = (Table.of("", COLUMNS, shown, notes) for shown in (lines, [line for line in lines if line[0]]))
    narrow = replace(table.without(*LEFT_OUT), narrow=runs.without(*LEFT_OUT, "framework", "solved"))
    print_tables([replace(table, narrow=narrow)], sys.stdout)


def _tags_and_notes(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        tags = ", ".join(row["tags"])
        if tags or row["note"]:
            yield f"{row['run_id']}: {' '.join(part for part in (f'[{tags}]' if tags else '', row['note']) if part)}"


def _lines(row: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return a line for each framework of a run; the cells of the run itself are in the first."""
    from trialbed.views import UNKNOWN

    queries = f"{row['queries']} x {row['repeat']}" if row["repeat"] > 1 else str(row["queries"])
    first = (row["run_id"], row["status"], row["test_set"])
    own = (*first, queries, row["model"], f"{row['answered']}/{row['trials']}")
    rates = {name: f"{rate:.2f} answered" for name, rate in row["success_rate"].items() if rate is not None}
    solved = {name: f"{value:.2f}" for name, value in row["sopr_score"].items() if value is not None}
    means = [(name, rates.get(name, solved.get(name, UNKNOWN))) for name in row["frameworks"]]
    return [(*(own if not place else ("",) * len(own)), *figures) for place, figures in enumerate(means)]
