"""Makes the report of a stored run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any

from trialbed.records import Query, QueryIds, Run, ScoreDescription, ToolSpec, TrialKey, TrialResult
from trialbed.report._reading import BlankQueries, ReadTrials, are_first_apart, common_trials
from trialbed.report._records import Summary
from trialbed.report._report import Report
from trialbed.report._summary import summarise
from trialbed.report._tally import quality_names
from trialbed.report._trials import QueryId, ReportedTrial, Shortener
from trialbed.report.attribution import attribute_trial
from trialbed.report.comparison import FrameworkComparison, compare_frameworks, open_ranks
from trialbed.scoring import ALWAYS, OF_SOME, absent_by_trials, absent_scores
from trialbed.settings import secret_values
from trialbed.spool import Spool
from trialbed.store import StoredRun, require_frameworks

Queries = Mapping[QueryId, Query]
Aggregate = Callable[[Run, Iterable[TrialResult]], Mapping[str, Any]]
Offers = Mapping[int | None, Mapping[QueryId, Sequence[ToolSpec]]]


def read_report(
    stored: StoredRun,
    queries: Queries | None = None,
    *,
    against: str | None = None,
    margin: float | None = None,
    allow_incomplete: bool = True,
    described: Mapping[str, ScoreDescription] = MappingProxyType({}),
    aggregate: Aggregate | None = None,
    shown: Callable[[TrialResult], TrialResult] = lambda result: result,
) -> Report:
    """Report a run as the store holds it now; its trials are read a part at a time.

    One that has not ended, or that lacks trials, is ``incomplete``.

    Args:
        queries: the run's queries by id; None where the dataset is out of reach: their texts and expected Apis, and
            what became of their expected calls, are not known then.
        against: the framework that the others are compared with; None for the run's own, ``reference``, or the first.
        margin: the largest difference of a score that does not matter; None for the run's own.
        allow_incomplete: where trials are missing, add the figures over those that every framework has.
        described: the scores that installed plugins describe; the run's own descriptions come first.
        aggregate: returns the figures that plugins add to a framework's summary.
        shown: gives each attempt as it is reported, such as with the verdicts of another judge.

    Raises:
        UsageError: ``against`` is not in the run.
        DataError: a trial is about a query that is not given, or a plugin's figure has the name of another.
    """
    run = ended_run(require_frameworks(stored).record)
    known, gold = queries_of(run, queries), stored.gold_answers()
    tools = stored.offers(queries) if queries else None

    def each() -> Iterator[TrialResult]:
        return map(shown, stored.each_result())

    def whole(key: TrialKey) -> TrialResult:
        return shown(stored.trial(key.framework, key.query_id, key.repeat).result)

    groups = {name: read.count(gold) for name, read in _read(run, each(), known, tools).items()}
    columns = [group.trials.columns for group in groups.values()]
    common = common_trials(run.status, columns) if allow_incomplete else None
    answered = chain.from_iterable(own.values_by_query(OF_SOME) for own in columns)
    absent = absent_scores(queries.values()) if queries else absent_by_trials(known, answered)
    # Those of the run itself come first: its scorers may not be installed here, or have changed.
    described = {**described, **run.scores}
    summarised = partial(
        summarise,
        run,
        absent=absent,
        quality=quality_names((group.tally for group in groups.values()), ALWAYS),
        first_apart=are_first_apart(columns, common),
        attributed=tools is not None,
        described=described,
    )
    summaries = [
        summarised(name, group.trials, group.tally, common=None if common is None else common[place])
        for place, (name, group) in enumerate(groups.items())
    ]
    compared = _add_comparisons(
        summaries,
        lambda name: groups[name].trials.as_they_ended,
        whole,
        against=against or run.against,
        margin=margin or run.margin,
    )
    report = Report(run, compared, known, described, gold, each, absent)
    if aggregate is None:
        return report
    extended = (replace(own, extra=aggregate(report.run, report.trials(own.framework))) for own in compared)
    return replace(report, frameworks=tuple(extended))


def ended_run(run: Run) -> Run:
    """The run as one that has ended: where it is not finished, it is incomplete."""
    return run if run.status == "finished" else run.model_copy(update={"status": "incomplete"})


def queries_of(run: Run, queries: Queries | None) -> Queries:
    """The queries of a run by id; without texts and Apis where the dataset is out of reach."""
    return queries or BlankQueries(run.config.query_ids)


def _read(run: Run, each: Iterable[TrialResult], queries: Queries, tools: Offers | None) -> dict[str, ReadTrials]:
    """Read the attempts of each framework."""
    secrets = secret_values()
    numbers = QueryIds(queries).places
    spool = Spool()
    found = {name: ReadTrials(name, numbers, spool) for name in run.config.frameworks}
    shorteners = {name: Shortener(secrets, run.prices_of(name)) for name in run.config.frameworks}
    for result in each:
        label = result.key.framework
        if label not in found:
            continue
        offered = None if tools is None else tools[run.config.own_limit(label)]
        known = result.key.query_id in numbers
        calls = attribute_trial(result, queries, offered, secrets) if known and offered else None
        found[label].add(shorteners[label](result, calls))
    return found


def _add_comparisons(
    summaries: Sequence[Summary],
    trials: Callable[[str], Iterable[ReportedTrial]],
    whole: Callable[[TrialKey], TrialResult],
    *,
    against: str | None,
    margin: float,
) -> tuple[Summary, ...]:
    """The summaries with their comparisons and ranks; without where trials are missing and that is not accepted."""
    sides = {summary.framework: summary.side for summary in summaries}
    incomplete = any(summary.incomplete for summary in summaries)
    comparisons: Mapping[str, tuple[FrameworkComparison, ...]] = {}
    if not incomplete or all(summary.common for summary in summaries):
        comparisons = compare_frameworks(
            sides,
            against=against,
            margin=margin,
            trials=trials,
            whole=whole,
        )
    ranks = None if incomplete else open_ranks(list(sides.values()), margin)
    return tuple(
        replace(
            summary,
            comparisons=comparisons.get(summary.framework, ()),
            ranks=None if ranks is None else _ranks_of(summary.framework, ranks),
        )
        for summary in summaries
    )


def _ranks_of(framework: str, ranks: Mapping[str, Mapping[str, tuple[int, int]]]) -> dict[str, tuple[int, int]]:
    """The ranks of a framework; none where it is not compared, as its row is void."""
    return {score: found[framework] for score, found in ranks.items() if framework in found}
