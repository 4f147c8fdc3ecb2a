"""A run: its settings, the table of its scores, and what went worst in it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import print_json
from trialbed.cli.stored import moment, next_commands, run_reporter, seconds
from trialbed.cli.waiting import names_reading
from trialbed.texts import number_of

if TYPE_CHECKING:
    from trialbed.records import Query
    from trialbed.report import Report, WorstQuery
    from trialbed.store import StoredRun, TrialRow
    from trialbed.views import Table

TEXT = 50
"""Characters of a task that the table of the worst queries shows."""

TOLD_BY_NAME = ("frameworks", "commands", "dataset")
"""Settings that have lines of their own."""

BRIEF = ("run", "tags", "note")
"""Lines that a screen has."""


def show_run(
    run: StoredRun,
    ask: Callable[[], Mapping[int | str, Query] | None],
    *,
    reporter: str,
    store: str | None,
    as_json: bool,
    legend: bool = False,
    full: bool = False,
) -> None:
    """Print a run.

    Args:
        ask: gives its queries by id; None where the dataset is out of reach.
        reporter: prints the results.
        store: as the user named it, for the command that is shown.
        legend: whether the table is to say what each figure means, and so to have them all.
        full: whether all of it is shown, instead of a screen.
    """
    from trialbed.plugins import installed_listeners
    from trialbed.report import read_report, worst_queries

    brief = not (full or legend)
    chosen = run_reporter("table" if as_json else reporter, explained=legend, brief=brief)
    with names_reading():
        report = read_report(run, ask, installed_listeners())
    worst = worst_queries(report)
    if as_json:
        print_json(_document(run, report, worst))
        return
    chosen.report(report, sys.stdout)
    if reporter != "table":
        return
    if worst:
        from trialbed.views import print_tables

        click.echo()
        print_tables([_worst_table(worst, report)], sys.stdout)
    click.echo()
    for line in _settings(run, brief=brief):
        click.echo(line)
    if commands := next_commands(run.run_id, worst, store, full=not brief):
        click.echo(commands)


def _name(query: WorstQuery) -> str:
    """The name of its worst trial."""
    from trialbed.report import trial_name

    key = query.worst.key
    return trial_name(key.framework, key.query_id, key.repeat)


def _settings(run: StoredRun, *, brief: bool) -> Iterator[str]:
    """The settings of a run, and how it went, each on a line; if brief, only how it went and the user's own words."""
    from trialbed.views import printable

    config, took = run.config, f", took {seconds(run.overall_time)}" if run.overall_time else ""
    versions = {info.name: info.version for info in run.frameworks}
    queries = number_of(len(config.query_ids), "query", "queries") + (
        f" x {config.repeat}" if config.repeat > 1 else ""
    )
    dataset = f"{config.named_dataset} ({config.test_set}), {queries}, sha256 {config.dataset_digest[:12]}"
    found = [
        ("run", f"{run.run_id}: {run.status}, began {moment(run.created_at)} UTC{took}"),
        ("frameworks", ", ".join(f"{name} {versions.get(name, '')}".strip() for name in config.frameworks)),
        *(("program", text) for text in config.commands),
        ("dataset", dataset),
        *_other_settings(run),
        ("trialbed", config.trialbed_version),
        ("tags", ", ".join(run.tags)),
        ("note", run.note),
    ]
    rows = [(name, text) for name, text in found if text and (not brief or name in BRIEF)]
    width = max(len(name) for name, _ in rows)
    yield from (printable(f"{name:<{width}}  {text}") for name, text in rows)


def _other_settings(run: StoredRun) -> Iterator[tuple[str, str]]:
    """Yield the other settings of the run's identity; those that are not set are left out."""
    from trialbed.wire.addresses import short_address
    from trialbed.wire.redaction import shown_url

    for name, value in run.config.settings(run.config.frameworks[0]).items():
        if name == "base_url" and value is not None:
            value = shown_url(value)
        elif name == "model":
            value = ", ".join(map(short_address, run.config.models))
        elif isinstance(value, str):
            value = short_address(value)
        elif isinstance(value, bool):
            value = "yes" if value else None
        if name not in (*TOLD_BY_NAME, "repeat") and value not in (None, (), ""):
            yield name.replace("_", " "), str(value)


def _worst_table(worst: Sequence[WorstQuery], report: Report) -> Table:
    """The worst queries, with their texts where there is room."""
    from trialbed.texts import one_line
    from trialbed.views import Table

    several = len(report.table) > len(report.run.config.query_ids)
    columns = ("worst queries", "ends" if several else "end", "worst trial", "task")
    rows = [(str(query.query_id), _ends(query), _name(query), one_line(query.text, TEXT)) for query in worst]
    table = Table.of("", columns, rows)
    without = table.without("task")
    return replace(table, narrow=without) if any(query.text for query in worst) else without


def _ends(query: WorstQuery) -> str:
    """Return the ends of the trials of a query, of all set-ups together."""
    ends = Counter(map(_end, query.trials))
    if ends.total() == 1:
        return next(iter(ends))
    return ", ".join(f"{count} {end}" for end, count in ends.most_common())


def _end(trial: TrialRow) -> str:
    if trial.failure is not None:
        return f"{trial.status} ({trial.failure.kind})"
    return "not judged" if trial.verdict == "Error" else trial.verdict


def _document(run: StoredRun, report: Report, worst: Sequence[WorstQuery]) -> dict[str, Any]:
    """A run as JSON: its record, the metadata and summary of each framework, and the worst queries."""
    from trialbed.report import legacy_metadata, legacy_summary

    record = run.record.model_dump(mode="json")
    frameworks = [
        {"metadata": legacy_metadata(one.run, one.framework, one.trials), "summary": legacy_summary(one)}
        for one in report.frameworks
    ]
    return {
        "run": {**record, "config": {**record["config"], "base_url": frameworks[0]["metadata"]["base_url"]}},
        "frameworks": frameworks,
        "worst": [{"query_id": query.query_id, "trial": _name(query), "query_text": query.text} for query in worst],
    }
