"""``bench runs``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.completion import completes, datasets, frameworks
from trialbed.cli.formats import chosen_format, format_option, records_text
from trialbed.cli.options import json_option, plain_option
from trialbed.cli.stored import Since, print_json, store_option

if TYPE_CHECKING:
    from trialbed.records import RunStatus
    from trialbed.store import StoredRun, StoredTrial

STATUSES = ("running", "interrupted", "incomplete", "finished")

EPILOG = """\b
Examples:
  bench runs
  bench runs --framework langgraph --since 7d
  bench runs --model gpt-4o-mini --dataset stabletoolbench:G1_instruction --json
"""


@click.command("runs", epilog=EPILOG)
@plain_option(
    "-f",
    "--framework",
    metavar="NAME",
    help="Only runs of this framework, in any profile and release, or in those that are named.",
    shell_complete=completes(frameworks),
)
@plain_option("-m", "--model", metavar="NAME", help="Only runs of this model.")
@plain_option(
    "-d", "--dataset", metavar="NAME", help="Only runs of this dataset or test set.", shell_complete=completes(datasets)
)
@plain_option("--status", type=click.Choice(STATUSES), help="Only runs of this status.")
@plain_option(
    "--since",
    type=Since(),
    metavar="TIME",
    help="Only runs that began then or later: 2026-11-22, 2026-11-22T18:00 (UTC), or 30m, 12h, 7d ago.",
)
@plain_option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Number of runs that are listed."
)
@store_option
@format_option("table", "json", "csv", "markdown")
@json_option
def command(
    framework: str | None,
    model: str | None,
    dataset: str | None,
    status: RunStatus | None,
    since: datetime | None,
    limit: int,
    store: str | None,
    form: str | None,
    as_json: bool,
) -> None:
    """List the runs in the store, newest first.

    Show one with bench show RUN, and compare two with bench compare RUN RUN.
    """
    from trialbed.store import open_store
    from trialbed.views import Table

    form = chosen_format(form, as_json=as_json)
    with open_store(store) as reader:
        # One more than are shown, to know whether there are more.
        found = reader.runs(
            framework=framework, model=model, dataset=dataset, status=status, since=since, limit=limit + 1
        )
        rows = [_row(run) for run in found[:limit]]
        if form == "json":
            print_json(rows)
        elif form == "table":
            _print(rows, reader.place, more=len(found) > limit)
        else:
            table = Table.of("", COLUMNS, (line for row in rows for line in _lines(row)))
            click.echo(records_text(form, [table], list(_records(rows)), "Runs"), nl=False)


def _row(run: StoredRun) -> dict[str, Any]:
    """What a list of runs says of one."""
    trials, config = run.trials(), run.config
    ended = {status: sum(1 for trial in trials if trial.status == status) for status in ("answered", "failed")}
    return {
        "run_id": run.run_id,
        "created_at": run.created_at.isoformat(),
        "status": run.status,
        "frameworks": list(config.frameworks),
        "dataset": config.dataset,
        "test_set": config.test_set,
        "model": config.model,
        "judge": config.judge,
        "queries": len(config.query_ids),
        "repeat": config.repeat,
        "trials": len(config.query_ids) * config.repeat * len(config.frameworks),
        **ended,
        "overall_time": run.overall_time,
        "sopr_score": {name: _mean(name, trials) for name in config.frameworks},
    }


def _records(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """One record for each framework of a run."""
    for row in rows:
        own = {name: value for name, value in row.items() if name not in ("frameworks", "sopr_score")}
        for framework, mean in row["sopr_score"].items():
            yield {**own, "framework": framework, "sopr_score": mean}


def _mean(framework: str, trials: Sequence[StoredTrial]) -> float | None:
    """The mean of ``sopr_score`` over the trials of a framework that were measured; failed ones are 0."""
    from statistics import fmean

    values = []
    for trial in trials:
        score = trial.score("sopr_score")
        if trial.key.framework != framework or trial.status == "not measured":
            continue
        if trial.status == "failed":
            values.append(0.0)
        elif score is not None and score.value is not None:
            values.append(score.value)
    return fmean(values) if values else None


COLUMNS = ("run", "status", "dataset", "queries", "model", "trials", "framework", "sopr_score")
NARROW = ("run", "status", "trials", "framework", "sopr_score")
NARROWEST = ("run", "status", "trials")
"""Columns for narrow terminals: how a run ended and how much of it there is matter more than what it was of."""


def _print(rows: list[dict[str, Any]], place: str, *, more: bool) -> None:
    from trialbed.views import Table, print_tables

    if not rows:
        click.echo(f"No runs in {place} fit.")
        return
    notes = [
        "trials: those that ended with an answer, of all. sopr_score: the mean over measured trials; failed are 0."
    ]
    if more:
        notes.append("There are more runs; --limit shows them.")
    notes.append(f"Show one with `bench show {rows[0]['run_id']}`, or the newest with `bench show latest`.")
    lines = [line for row in rows for line in _lines(row)]
    table: Table | None = None
    for columns in (NARROWEST, NARROW, COLUMNS):
        rows_shown = (_cells(line, columns) for line in lines if columns is not NARROWEST or line[0])
        table = replace(Table.of("", columns, rows_shown, notes), narrow=table)
    print_tables([table] if table else [], sys.stdout)


def _cells(line: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """The cells of some columns."""
    return tuple(cell for name, cell in zip(COLUMNS, line, strict=True) if name in columns)


def _lines(row: dict[str, Any]) -> list[tuple[str, ...]]:
    """A line for each framework of a run; what is the run's own stands in the first."""
    from trialbed.views import UNKNOWN

    repeats = f" x {row['repeat']}" if row["repeat"] > 1 else ""
    own = (
        row["run_id"],
        row["status"],
        row["test_set"],
        f"{row['queries']}{repeats}",
        row["model"],
        f"{row['answered']}/{row['trials']}",
    )
    means = [(name, UNKNOWN if value is None else f"{value:.2f}") for name, value in row["sopr_score"].items()]
    return [(*(own if not place else ("",) * len(own)), *figures) for place, figures in enumerate(means)]
