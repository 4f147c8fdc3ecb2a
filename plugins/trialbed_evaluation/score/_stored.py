"""Scores the trials of stored runs again."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.errors import UsageError
from trialbed_evaluation.judge_settings import JUDGE_SETTINGS
from trialbed_evaluation.score._files import OWN

if TYPE_CHECKING:
    from trialbed.records import Score, TrialResult
    from trialbed.report import Report
    from trialbed.views import Table
    from trialbed_evaluation.score._rescoring import Rescored

SETTINGS = (*(name for name in JUDGE_SETTINGS if name not in OWN), "data_dir")
"""The settings of a run that are options for stored runs only."""

SHARED = (*OWN, "fail_under")
"""Options for files that are for stored runs too."""


def options() -> list[click.Parameter]:
    """Return the options for stored runs."""
    from trialbed.cli.options import FOLDER, SingleOption
    from trialbed.cli.setting_options import setting_option
    from trialbed.cli.stored import store_option

    decorators: list[Callable[[click.Command], click.Command]] = [*map(setting_option, SETTINGS), store_option]
    holder = click.Command("holder")
    for decorate in reversed(decorators):
        decorate(holder)
    # Decorators add to the front of a function's options, and to the end of a command's.
    own = SingleOption(
        ["-o", "--output"], type=FOLDER, metavar="FOLDER", help="Write result documents with the scores."
    )
    return [*reversed(holder.params), own]


def score(target: str, given: Mapping[str, Any]) -> int:
    """Score a stored run again, and print what changed.

    Args:
        target: the run's id, the beginning of one, or ``latest``.

    Returns:
        The exit code: 3 if the judge gave no verdict on an answer, 1 if a mean is below its threshold.

    Raises:
        UsageError, DataError: the run or the judge does not exist, the run is under way, or its dataset cannot be
            read.
    """
    import asyncio

    from trialbed.cli.options import print_json
    from trialbed.cli.thresholds import below, check_scores, parse_thresholds
    from trialbed.report import legacy_documents
    from trialbed.views import print_tables

    thresholds = parse_thresholds(given["fail_under"])
    check_scores(thresholds)
    rescored, report = asyncio.run(_rescore(target, given))
    if given["output"] is not None:
        _write(report, given["output"])
    if given["as_json"]:
        print_json(legacy_documents(report))
    else:
        print_tables([_table(rescored)], sys.stdout)
    if _without_verdict(rescored):
        _refuse_incomplete(rescored, given["fail_under"])
        return 3
    return 1 if below(thresholds, report) else 0


async def _rescore(target: str, given: Mapping[str, Any]) -> tuple[Rescored, Report]:
    from trialbed.catalogs import run_queries
    from trialbed.report import build_report
    from trialbed.settings import RunSettings, store_file
    from trialbed.store import Store, open_store, require_frameworks
    from trialbed_evaluation.score._rescoring import rejudge, rescore

    values = {name: given[name] for name in (*OWN, *SETTINGS) if given[name] is not None}
    settings = RunSettings(**values)
    place = given["store"] or store_file()
    with open_store(place) as reader:
        stored = require_frameworks(reader.run(target))
        if stored.status == "running":
            raise UsageError(f"run {stored.run_id} is under way: score it again when it has ended")
        run, queries = stored.record, run_queries(stored.record.config, settings.data_dir)
    with Store.open(place) as store:
        if given["judge"] is None:
            rescored = await rescore(store, run, queries, concurrency=settings.concurrency)
        else:
            rescored = await rejudge(store, run, queries, settings)
    scored = rescored.run
    ended = scored if scored.status == "finished" else scored.model_copy(update={"status": "incomplete"})
    with open_store(place) as reader:
        tools = reader.run(run.run_id).offers(queries)
        report = build_report(ended, queries, rescored.attempts, tools=tools, gold=rescored.gold, allow_incomplete=True)
    return rescored, report


def _write(report: Report, folder: Path) -> None:
    from trialbed.report import legacy_documents, write_document

    for document in legacy_documents(report):
        click.echo(f"written: {write_document(document, folder)}", err=True)


def _table(rescored: Rescored) -> Table:
    """Compare the scores of each framework's trials before and now."""
    from trialbed.scoring import JUDGED, judge_note
    from trialbed.views import Table, helper_line

    frameworks = rescored.run.config.frameworks
    rescored, incomplete = _over_common(rescored)
    title = f"run {rescored.run.run_id}"
    if rescored.name is None:
        added = sorted({score.name for result in rescored.after for score in result.scores} - _names(rescored.before))
        rows = [(name, *(_mean(_own(rescored.after, framework), name) for framework in frameworks)) for name in added]
        notes = ["Scores that the trials lacked; the others are as they were."] if added else ["No score was missing."]
        return Table.of(title, ("score", *frameworks), rows, [*incomplete, *notes])
    columns = ("framework", JUDGED, rescored.name, "same status", "no verdict")
    rows = [(framework, *_judge_scores(rescored, framework, rescored.name)) for framework in frameworks]
    run = rescored.run
    notes = [
        "Each mean is over the answers with a verdict, and trials that failed, which count as 0.",
        *filter(None, [judge_note(run.config.judge, run.judge or None)]),
        *([helper_line(rescored.use)] if rescored.use else ()),
    ]
    return Table.of(title, columns, rows, [*incomplete, *notes])


def _over_common(rescored: Rescored) -> tuple[Rescored, list[str]]:
    """Choose the trials to show side by side where a run lacks some: those that every framework has, and a note."""
    from dataclasses import replace

    run = rescored.run
    if run.status == "finished":
        return rescored, []
    measured = Counter((one.key.query_id, one.key.repeat) for one in rescored.before if one.status != "not measured")
    shared = {pair for pair, count in measured.items() if count == len(run.config.frameworks)}
    before, after = (
        [one for one in results if (one.key.query_id, one.key.repeat) in shared]
        for results in (rescored.before, rescored.after)
    )
    note = f"INCOMPLETE: the run is {run.status}; the figures are over the {len(shared):,} queries and repeats that "
    every = "every framework has." if len(run.config.frameworks) > 1 else "were measured."
    return replace(rescored, before=before, after=after), [note + every]


def _names(results: Sequence[TrialResult]) -> set[str]:
    return {score.name for result in results for score in result.scores}


def _own(results: Sequence[TrialResult], framework: str) -> list[TrialResult]:
    return [result for result in results if result.key.framework == framework]


def _judge_scores(rescored: Rescored, framework: str, name: str) -> tuple[str, ...]:
    from trialbed.scoring import JUDGED

    own = _own(rescored.after, framework)
    pairs = [(result.score(JUDGED), result.score(name)) for result in own]
    both = [(old.label, new.label) for old, new in pairs if old and new and old.label and new.label]
    silent = sum(1 for _, new in pairs if new is not None and new.value is None)
    same = sum(1 for old, new in both if old == new)
    return _mean(own, JUDGED, is_verdict=True), _mean(own, name, is_verdict=True), f"{same} of {len(both)}", str(silent)


def _mean(results: Sequence[TrialResult], name: str, *, is_verdict: bool = False) -> str:
    from statistics import fmean

    from trialbed.views import UNKNOWN, number

    values = [score.value for result in results if (score := result.score(name)) and score.value is not None]
    quality = all(score.quality for result in results if (score := result.score(name)))
    # A framework of which every trial failed has no verdict at all, and solved nothing.
    if quality and (values or is_verdict):
        values += [0.0 for result in results if result.status == "failed"]
    return number(fmean(values)) if values else UNKNOWN


def _refuse_incomplete(rescored: Rescored, fail_under: Sequence[str]) -> None:
    """Say that answers have no verdict, and why the first has none."""
    failures = _without_verdict(rescored)
    answers = "1 answer has" if len(failures) == 1 else f"{len(failures)} answers have"
    undecided = "--fail-under is not decided. " if fail_under else ""
    first = failures[0].failure.message if failures[0].failure else "the judge gave no value"
    click.echo(f"Error: {answers} no verdict. {undecided}The same command asks again. The first: {first}", err=True)


def _without_verdict(rescored: Rescored) -> list[Score]:
    """Return the new judge's scores that have no value; none where no judge was asked."""
    found = [score for result in rescored.after if rescored.name and (score := result.score(rescored.name))]
    return [score for score in found if score.value is None]
