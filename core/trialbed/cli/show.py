"""``bench show``: a run with its table, its worst tasks and its settings, or one of its trials."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.formats import RUN_FORMATS, chosen_format, run_format_option
from trialbed.cli.options import json_option, plain_option, print_json
from trialbed.cli.setting_options import data_dir_option
from trialbed.cli.show_trial import named_attempt, show_trial
from trialbed.cli.stored import legend_option, moment, names_reading, next_commands, run_reporter, seconds, store_option

if TYPE_CHECKING:
    from trialbed.contracts import Reporter
    from trialbed.records import Query
    from trialbed.report import Report, WorstQuery
    from trialbed.store import StoredRun
    from trialbed.views import Table

MAX_TEXT = 50
"""Characters of a task that the table of the hardest tasks shows."""

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
        ask: gives its queries by id; None if the dataset is out of reach.
        reporter: prints the results.
        store: as the user named it, for the command that is shown.
        legend: whether the table is to say what each figure means, and so to have them all.
        full: whether all of it is shown, instead of a screen.
    """
    from trialbed.plugins import installed_listeners
    from trialbed.report import read_report, worst_queries

    chosen = run_reporter("table" if as_json else reporter, explained=legend, brief=not (full or legend))
    with names_reading():
        report = read_report(run, ask, installed_listeners())
    if as_json:
        print_json(_document(run, report, worst_queries(report)))
    elif reporter == "table":
        print_screen(run, report, chosen, store)
    else:
        chosen.report(report, sys.stdout)


def print_screen(run: StoredRun, report: Report, reporter: Reporter, store: str | None) -> None:
    """Print the tables of a run, its worst queries, how it went, and the commands that lead on.

    Args:
        reporter: prints the tables; if it is brief, the rest is too.
        store: as the user named it.
    """
    from trialbed.report import worst_queries

    reporter.report(report, sys.stdout)
    worst = worst_queries(report)
    if worst:
        from trialbed.views import print_tables

        click.echo()
        print_tables([_worst_table(worst, report)], sys.stdout)
    click.echo()
    for line in _settings(run, brief=reporter.brief):
        click.echo(line)
    if commands := next_commands(run.run_id, worst, store, full=not reporter.brief):
        click.echo(commands)


def _name(query: WorstQuery) -> str:
    from trialbed.report import trial_name

    key = query.worst.key
    return trial_name(key.framework, key.query_id, key.repeat)


def _settings(run: StoredRun, *, brief: bool) -> Iterator[str]:
    """Return lines on a run's settings and its course; if brief, only on its course and the user's own words."""
    from trialbed.report import run_settings
    from trialbed.views import printable

    took = f", took {seconds(run.overall_time)}" if run.overall_time else ""
    found = [
        ("run", f"{run.run_id}: {run.status}, began {moment(run.created_at)} UTC{took}"),
        *run_settings(run.record),
        ("tags", ", ".join(run.tags)),
        ("note", run.note),
    ]
    rows = [(name, text) for name, text in found if text and (not brief or name in BRIEF)]
    width = max(len(name) for name, _ in rows)
    yield from (printable(f"{name:<{width}}  {text}") for name, text in rows)


def _worst_table(worst: Sequence[WorstQuery], report: Report) -> Table:
    """Return the hardest tasks, with their texts if there is room."""
    from trialbed.records import score_title
    from trialbed.texts import one_line
    from trialbed.views import Table, compact

    several = len(report.table) > len(report.run.config.query_ids)
    columns = ("hardest tasks", score_title(worst[0].score), "ends" if several else "end", "worst trial", "task")
    rows = [(str(one.query_id), compact(one.mean), one.ends, _name(one), one_line(one.text, MAX_TEXT)) for one in worst]
    table = Table.of("", columns, rows)
    if report.incomplete:  # which shows no scores
        table = table.without(columns[1])
    without = table.without("task")
    return replace(table, narrow=without) if any(query.text for query in worst) else without


def _document(run: StoredRun, report: Report, worst: Sequence[WorstQuery]) -> dict[str, Any]:
    """Return a run as JSON: its record, the metadata and summary of each framework, and the hardest tasks."""
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


EPILOG = """\b
Examples:
  bench show latest
  bench show latest --full
  bench show 20261122T090211 --format markdown
  bench show latest langgraph/17
"""


@click.command("show", epilog=EPILOG)
@click.argument("run")
@click.argument("trial", required=False)
@plain_option("--attempt", type=click.IntRange(min=0), help="Another attempt of the trial than the one that counts.")
@plain_option("--full", is_flag=True, help="Show all of a run, or long texts of a trial in full.")
@run_format_option
@legend_option
@store_option
@data_dir_option
@json_option
def command(
    run: str,
    trial: str | None,
    attempt: int | None,
    full: bool,
    form: str | None,
    legend: bool,
    store: str | None,
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Show a run, or one of its trials as the wire saw it.

    RUN is an id, the beginning of one, or latest. Without TRIAL, a screen shows the result of the run and its hardest
    tasks; --full adds every figure, where calls were lost, all comparisons and the settings. TRIAL is FRAMEWORK/TASK or
    FRAMEWORK/TASK/REPEAT, such as langgraph/17: the command then shows everything that the server saw of the trial,
    what went wrong first, and every score with its reason.
    """
    from trialbed.catalogs import known_queries
    from trialbed.settings import data_dir as default_folder

    form = chosen_format(form, as_json=as_json)
    from trialbed.drivers import load_driver
    from trialbed.store import open_store

    with open_store(store) as reader:
        found = reader.run(run)
        is_verification = found.record.kind == "endpoints"
        ask = partial(known_queries, found.config, data_dir or default_folder())
        if trial is None:
            if attempt is not None:
                raise click.UsageError("--attempt is about one trial; name it, such as langgraph/17")
            if is_verification:
                if form not in RUN_FORMATS:
                    raise click.UsageError(f"--format {form} is for runs of frameworks; this is a verification")
                load_driver("components", "verification").show_run(found, form)
                return
            if form == "html":
                click.echo(load_driver("components", "pages").run_report(found, data_dir=data_dir))
                return
            show_run(found, ask, reporter=form, store=store, as_json=form == "json", legend=legend, full=full)
            return
        if form not in ("table", "json"):
            raise click.UsageError("one trial is shown as a table or as json; leave out --format")
        chosen = named_attempt(found, trial, attempt=attempt)
        queries = None if is_verification else ask()
        known = queries.get(chosen.key.query_id) if queries else None
        show_trial(found, chosen, known, full=full, as_json=form == "json")
