"""Scores the trials of stored runs again."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.errors import UsageError
from trialbed_evaluation.judge_settings import JUDGE_SETTINGS, settings_of

if TYPE_CHECKING:
    from trialbed.records import Query, Run
    from trialbed.report import Report
    from trialbed.store import TrialTable
    from trialbed.views import Table
    from trialbed_evaluation.score._rescoring import Rescored


def score(target: str, given: Mapping[str, Any]) -> int:
    """Score a stored run again, and print what changed.

    Args:
        target: the run's id, the beginning of one, or ``latest``.

    Returns:
        The exit code: 3 if the judge gave no verdict on an answer, 1 if a mean is below its threshold.

    Raises:
        UsageError, DataError: the run or the judge does not exist, the run is under way, or its dataset cannot be
            read.
        click.Abort: a signal ended it; scores that were given are kept.
    """
    import asyncio

    from trialbed.cli.stored import names_itself
    from trialbed.cli.thresholds import below, check_scores, parse_thresholds
    from trialbed.views import print_tables

    if given["judge"] is not None and given["scorers"]:
        raise UsageError("--scorer and --judge cannot be combined; run the command once with each")
    thresholds = parse_thresholds(given["fail_under"])
    scorers = _scorers(given["scorers"])
    own = {score.name for one in scorers.values() for score in getattr(one, "describe_scores", list)()}
    check_scores({name: least for name, least in thresholds.items() if name not in own})
    try:
        with names_itself("scoring the trials again"):
            rescored, queries = asyncio.run(_rescore(target, given, scorers))
    except asyncio.CancelledError:
        raise click.Abort from None
    with _report(rescored, queries, given) as report:
        if report is not None:
            _write(report, given)
        if not given["as_json"]:
            print_tables([_table(rescored)], sys.stdout)
        if silent := _silent(rescored):
            _refuse_incomplete(silent, given["fail_under"])
            return 3
        return 1 if report is not None and below(thresholds, report) else 0


async def _rescore(
    target: str, given: Mapping[str, Any], scorers: Mapping[str, Any]
) -> tuple[Rescored, Mapping[int | str, Query]]:
    from trialbed.catalogs import run_queries
    from trialbed.cli.progress import cancel_on_terminate
    from trialbed.store import Store, open_store, require_frameworks
    from trialbed_evaluation.score._rescoring import rejudge, rescore

    settings = settings_of(given, (*JUDGE_SETTINGS, "data_dir"))
    place = _place(given)
    with open_store(place) as reader:
        stored = require_frameworks(reader.run(target))
        if stored.status == "running":
            raise UsageError(f"run {stored.run_id} is under way: score it again when it has ended")
        run, queries = stored.record, run_queries(stored.record.config, settings.data_dir)
    with cancel_on_terminate(), Store.open(place) as store:
        if given["judge"] is None:
            return await rescore(store, run, queries, scorers, concurrency=settings.concurrency), queries
        return await rejudge(store, run, queries, settings), queries


def _scorers(given: Sequence[str]) -> dict[str, Any]:
    """Return the scorers in files, by name.

    Raises:
        UsageError, DataError: a file cannot be run, or has no scorer.
    """
    from trialbed.api import scorer_plugins
    from trialbed_tasks.python import read_python

    found: list[Any] = []
    for text in given:
        file, suffix, name = text.partition(".py:")
        read = read_python(Path(f"{file}.py" if suffix else text))
        if name:
            one = read.function(name)
            found.append(one() if isinstance(one, type) else one)
        elif not read.scorers:
            raise UsageError(f"--scorer {text}: no function in it is marked with @scorer; name one: {text}:NAME")
        found += read.scorers.values() if not name else ()
    return scorer_plugins(found)


def _place(given: Mapping[str, Any]) -> str:
    from trialbed.settings import store_file

    return str(given["store"] or store_file())


@contextmanager
def _report(
    rescored: Rescored, queries: Mapping[int | str, Query], given: Mapping[str, Any]
) -> Iterator[Report | None]:
    """Yield the run's report from its trials, read again; None if no output needs it."""
    from trialbed.cli.stored import names_itself
    from trialbed.plugins import installed_listeners
    from trialbed.report import read_report
    from trialbed.store import open_store

    if not (given["as_json"] or given["output"] is not None or given["fail_under"]):
        yield None
        return
    with open_store(_place(given)) as reader:
        stored = replace(reader.run(rescored.run.run_id), record=rescored.run)
        with names_itself("reading the trials with their new scores"):
            report = read_report(stored, queries, installed_listeners(), renamed=rescored.renamed)
        yield report


def _write(report: Report, given: Mapping[str, Any]) -> None:
    from trialbed.cli.formats import print_documents
    from trialbed.report import each_document, write_document

    if given["output"] is not None:
        for document, entries in each_document(report):
            click.echo(f"written: {write_document(document, given['output'], entries)}", err=True)
    if given["as_json"]:
        print_documents(report)


def _table(rescored: Rescored) -> Table:
    from trialbed.scoring import JUDGED, judge_note
    from trialbed.views import Table, helper_line

    run, title = rescored.run, f"run {rescored.run.run_id}"
    after = _common(rescored.after, run)
    frameworks = {label: after.of(label) for label in run.config.frameworks}
    incomplete = _incomplete_notes(run, after)
    if rescored.name is None:
        lacked = set(after.names(after.answered)) - set(rescored.before.names(rescored.before.answered))
        lacked_or_asked = "were asked for" if rescored.again else "the trials lacked"
        added = sorted(lacked | (rescored.again & set(after.names(after.answered))))
        rows = [(name, *(_mean(own, name) for own in frameworks.values())) for name in added]
        notes = [f"Scores that {lacked_or_asked}; the others are unchanged."] if added else ["No score was missing."]
        return Table.of(title, ("score", *frameworks), rows, [*incomplete, *notes])
    columns = ("framework", JUDGED, rescored.name, "same status", "no verdict")
    rows = [(label, *_verdicts(rescored, own, label)) for label, own in frameworks.items()]
    notes = [
        "Each mean is over the answers with a verdict, and trials that failed, which count as 0.",
        *filter(None, [judge_note(run.config.judge, run.judge or None)]),
        *([helper_line(rescored.use)] if rescored.use else ()),
    ]
    return Table.of(title, columns, rows, [*incomplete, *notes])


def _common(table: TrialTable, run: Run) -> TrialTable:
    """Return the trials with queries and repeats measured by every framework; all trials if the run is complete."""
    import numpy as np

    if run.status == "finished":
        return table
    measured = (table.of(label) for label in run.config.frameworks)
    pairs = set.intersection(*(set(own.pairs[own.measured].tolist()) for own in measured))
    return table.take(np.isin(table.pairs, list(pairs)))


def _incomplete_notes(run: Run, common: TrialTable) -> list[str]:
    """Return a note if the run is incomplete and only trials of every framework are compared."""
    if run.status == "finished":
        return []
    note = f"INCOMPLETE: the run is {run.status}; the figures are over the {len(set(common.pairs.tolist())):,} tasks "
    return [f"{note}and repeats that {'every framework has' if len(common.labels) > 1 else 'were measured'}."]


def _verdicts(rescored: Rescored, own: TrialTable, label: str) -> tuple[str, ...]:
    """Return both judges' means, their agreement, and the number of answers without a new verdict."""
    from trialbed.scoring import JUDGED

    assert rescored.verdicts is not None and rescored.name is not None  # noqa: S101, PT018 - a judge was asked
    new = _common(rescored.verdicts, rescored.run).of(label)
    both = (own["verdict"] != "") & (new["verdict"] != "")
    same = both & (own["verdict"] == new["verdict"])
    rows = set(own["row"].tolist())
    silent = sum(rescored.name in failures for row, failures in rescored.after.undetermined.items() if row in rows)
    means = (_mean(own, name, is_verdict=True) for name in (JUDGED, rescored.name))
    return *means, f"{int(same.sum())} of {int(both.sum())}", str(silent)


def _mean(own: TrialTable, name: str, *, is_verdict: bool = False) -> str:
    """Return the mean of a score; a framework with only failed trials has mean verdicts of 0 and no other means."""
    import numpy as np

    from trialbed.views import number

    kind = own.kinds.get(name)
    has_any = name in own.scores and bool(np.isfinite(own.scores[name]).any())
    values = own.values(name, zeros=(kind is None or kind.quality) and (has_any or is_verdict))
    values = values[np.isfinite(values)]
    return number(float(values.mean()) if len(values) else None)


def _silent(rescored: Rescored) -> list[str]:
    """Return why answers have no verdict of the new judge, in the order of the trials."""
    reasons, rows = rescored.after.undetermined, sorted(set(rescored.after["row"].tolist()))
    return [reasons[row][name].message for row in rows for name in reasons.get(row, ()) if name == rescored.name]


def _refuse_incomplete(silent: Sequence[str], fail_under: Sequence[str]) -> None:
    """Report answers without a verdict, with the first reason."""
    answers = "1 answer has" if len(silent) == 1 else f"{len(silent)} answers have"
    undecided = "--fail-under is not decided. " if fail_under else ""
    click.echo(f"Error: {answers} no verdict. {undecided}The same command asks again. The first: {silent[0]}", err=True)
