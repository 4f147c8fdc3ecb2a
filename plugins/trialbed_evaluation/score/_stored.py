"""Scores the trials of stored runs again."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from trialbed.errors import UsageError
from trialbed_evaluation.judge_settings import JUDGE_SETTINGS, settings_of

if TYPE_CHECKING:
    from trialbed.records import Query, Run
    from trialbed.report import Report
    from trialbed.views import Table
    from trialbed_evaluation.score._rescoring import Rescored
    from trialbed_evaluation.score._tally import CommonPairs, FrameworkTally, RunTally


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

    from trialbed.cli.thresholds import below, check_scores, parse_thresholds
    from trialbed.cli.waiting import names_itself
    from trialbed.views import print_tables

    thresholds = parse_thresholds(given["fail_under"])
    check_scores(thresholds)
    try:
        with names_itself("scoring the trials again"):
            rescored, queries = asyncio.run(_rescore(target, given))
    except asyncio.CancelledError:
        raise click.Abort from None
    with _report(rescored, queries, given) as report:
        if report is not None:
            _write(report, given)
        if not given["as_json"]:
            print_tables([_table(rescored)], sys.stdout)
        if rescored.tally.silent:
            _refuse_incomplete(rescored.tally, given["fail_under"])
            return 3
        return 1 if report is not None and below(thresholds, report) else 0


async def _rescore(target: str, given: Mapping[str, Any]) -> tuple[Rescored, Mapping[int | str, Query]]:
    """Score the run, and return what came of it with the run's queries."""
    from trialbed.catalogs import run_queries
    from trialbed.cli.signals import cancel_on_terminate
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
            return await rescore(store, run, queries, concurrency=settings.concurrency), queries
        return await rejudge(store, run, queries, settings), queries


def _place(given: Mapping[str, Any]) -> str:
    from trialbed.settings import store_file

    return str(given["store"] or store_file())


@contextmanager
def _report(
    rescored: Rescored, queries: Mapping[int | str, Query], given: Mapping[str, Any]
) -> Iterator[Report | None]:
    """Yield the report of the run as its documents describe it, its trials read again; None if no output needs it."""
    from trialbed.cli.waiting import names_itself
    from trialbed.plugins import installed_listeners
    from trialbed.report import read_report
    from trialbed.store import open_store

    if not (given["as_json"] or given["output"] is not None or given["fail_under"]):
        yield None
        return
    listeners = installed_listeners()
    with open_store(_place(given)) as reader:
        stored = replace(reader.run(rescored.run.run_id), record=rescored.run)
        with names_itself("reading the trials with their new scores"):
            report = read_report(
                stored,
                queries,
                described=listeners.descriptions(),
                aggregate=listeners.aggregate,
                shown=rescored.as_documented,
            )
        yield report


def _write(report: Report, given: Mapping[str, Any]) -> None:
    """Write the documents, and print them, where that is asked for."""
    from trialbed.cli.documents import print_documents
    from trialbed.report import open_documents, write_document

    if given["output"] is not None:
        with open_documents(report, given["output"]) as documents:
            for document, entries in documents:
                click.echo(f"written: {write_document(document, given['output'], entries)}", err=True)
    if given["as_json"]:
        print_documents(report)


def _table(rescored: Rescored) -> Table:
    """Compare the scores of each framework's trials before and now."""
    from trialbed.scoring import JUDGED, judge_note
    from trialbed.views import Table, helper_line

    run, tally = rescored.run, rescored.tally
    title, frameworks = f"run {run.run_id}", tally.frameworks
    incomplete = _incomplete_notes(run, tally.pairs)
    if rescored.name is None:
        added = sorted({name for own in frameworks.values() for name in own.sums} - tally.had)
        rows = [(name, *(_mean(own, name) for own in frameworks.values())) for name in added]
        notes = ["Scores that the trials lacked; the others are as they were."] if added else ["No score was missing."]
        return Table.of(title, ("score", *frameworks), rows, [*incomplete, *notes])
    columns = ("framework", JUDGED, rescored.name, "same status", "no verdict")
    rows = [(framework, *_judge_scores(own, rescored.name)) for framework, own in frameworks.items()]
    notes = [
        "Each mean is over the answers with a verdict, and trials that failed, which count as 0.",
        *filter(None, [judge_note(run.config.judge, run.judge or None)]),
        *([helper_line(rescored.use)] if rescored.use else ()),
    ]
    return Table.of(title, columns, rows, [*incomplete, *notes])


def _incomplete_notes(run: Run, pairs: CommonPairs) -> list[str]:
    """Say which trials are shown side by side where a run lacks some: those that every framework has."""
    if not pairs.is_part:
        return []
    note = f"INCOMPLETE: the run is {run.status}; the figures are over the {len(pairs):,} queries and repeats that "
    return [note + ("every framework has." if len(run.config.frameworks) > 1 else "were measured.")]


def _judge_scores(own: FrameworkTally, name: str) -> tuple[str, ...]:
    from trialbed.scoring import JUDGED

    means = (_mean(own, each, is_verdict=True) for each in (JUDGED, name))
    return *means, f"{own.same} of {own.judged_twice}", str(own.silent)


def _mean(own: FrameworkTally, name: str, *, is_verdict: bool = False) -> str:
    from trialbed.views import number

    return number(own.sums[name].mean(own.failed, is_verdict=is_verdict))


def _refuse_incomplete(tally: RunTally, fail_under: Sequence[str]) -> None:
    """Say that answers have no verdict, and why the first has none."""
    answers = "1 answer has" if tally.silent == 1 else f"{tally.silent} answers have"
    undecided = "--fail-under is not decided. " if fail_under else ""
    first = tally.first_silence
    click.echo(f"Error: {answers} no verdict. {undecided}The same command asks again. The first: {first}", err=True)
