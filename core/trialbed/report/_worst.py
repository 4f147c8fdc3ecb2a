"""Finds the worst trials of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import TYPE_CHECKING

from trialbed.report._records import WorstQuery
from trialbed.report._trials import QueryId, ReportedTrial

if TYPE_CHECKING:
    from trialbed.report._report import Report

JUDGING = ("sopr_score", "api_call_score")
"""The scores that say how a trial went, the foremost first."""

SHOWN = 5
"""Queries that are listed where no other number is asked for."""


def worst_queries(report: Report, most: int = SHOWN) -> list[WorstQuery]:
    """The queries on which most went wrong, the worst first; none where everything went right.

    Trials that were not measured say nothing, and come after all that do.
    """
    if report.kept is not None and most <= SHOWN:
        return list(report.kept.worst[:most])
    found: dict[QueryId, dict[str, list[ReportedTrial]]] = {}
    for summary in report.frameworks:
        for trial in summary.trials:
            found.setdefault(trial.query_id, {}).setdefault(summary.framework, []).append(trial)
    flawed = [
        WorstQuery(query_id, report.queries[query_id].text, trials, min(own, key=_of_trial))
        for query_id, trials in found.items()
        if (own := [trial for each in trials.values() for trial in each if _is_flawed(trial)])
    ]
    return sorted(flawed, key=lambda query: _of_query(query.trials))[:most]


def trial_name(framework: str, query: QueryId, repeat: int = 0) -> str:
    """The name of a trial within its run, as ``bench show`` takes it: ``langgraph:native/17``, ``reference/17/2``."""
    # In quotes where a number would be taken for one.
    shown = f'"{query}"' if isinstance(query, str) and query.isdigit() else str(query)
    return f"{framework}/{shown}" + (f"/{repeat}" if repeat else "")


def _is_flawed(trial: ReportedTrial) -> bool:
    return trial.status != "answered" or _quality(trial) < 1 or trial.faults > 0


def _of_trial(trial: ReportedTrial) -> tuple[bool, float, int]:
    return trial.status == "not measured", _quality(trial), -trial.faults


def _of_query(trials: Mapping[str, Iterable[ReportedTrial]]) -> tuple[bool, float, int]:
    every = [trial for own in trials.values() for trial in own]
    measured = [trial for trial in every if trial.status != "not measured"]
    quality = fmean(map(_quality, measured)) if measured else 0.0
    return not measured, quality, -sum(trial.faults for trial in every)


def _quality(trial: ReportedTrial) -> float:
    """The mean of the scores that are known; one that could not be determined is 0."""
    if trial.status != "answered":
        return 0.0
    return fmean(_values(trial))


def _values(trial: ReportedTrial) -> Iterator[float]:
    for name in JUDGING:
        score = trial.score(name)
        yield (score.value if score is not None else None) or 0.0
