"""Finds the worst trials of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trialbed.report._columns import ReportedColumns, quality_of
from trialbed.report._packed import columns_of
from trialbed.report._records import WorstQuery
from trialbed.report._trials import QueryId, ReportedTrial

if TYPE_CHECKING:
    from trialbed.report._report import Report

SHOWN = 5
"""Queries that are listed where no other number is asked for."""

DIGITS = 12
"""Digits of mean qualities, so that those of the same trials in another order are equal."""


def worst_queries(report: Report, most: int = SHOWN) -> list[WorstQuery]:
    """The queries on which most went wrong, the worst first; none where everything went right.

    Trials that were not measured say nothing, and come after all that do.
    """
    if report.kept is not None and most <= SHOWN:
        return list(report.kept.worst[:most])
    numbers: dict[QueryId, int] = {}
    columns = [columns_of(summary.trials, numbers) for summary in report.frameworks]
    queries = columns[0].queries if columns else ()
    return [_worst_query(report, columns, queries[number], number) for number in _worst_numbers(columns)[:most]]


def _worst_numbers(columns: Sequence[ReportedColumns]) -> list[int]:
    """The numbers of the queries on which something went wrong, the worst first, else as trials have them first."""
    import numpy as np

    if not columns:
        return []
    query, measured, answered, quality, faults = (
        np.concatenate(parts)
        for parts in zip(
            *(
                (
                    own.query.astype(np.int64),
                    own.is_measured,
                    own.is_answered,
                    own.column("quality"),
                    own.column("faults"),
                )
                for own in columns
            ),
            strict=True,
        )
    )
    if not len(query):
        return []  # sums over no trial are integers, which cannot be divided in place
    known = np.bincount(query, measured)
    total = np.bincount(query, quality)  # that of a trial that was not measured is 0
    mean = np.round(np.divide(total, known, out=np.zeros_like(total), where=known > 0), DIGITS)
    flawed = np.bincount(query, ~answered | (quality < 1) | (faults > 0)) > 0
    numbers, first = np.unique(query, return_index=True)
    chosen = flawed[numbers]
    numbers, first = numbers[chosen], first[chosen]
    order = np.lexsort((first, -np.bincount(query, faults)[numbers], mean[numbers], known[numbers] == 0))
    found: list[int] = numbers[order].tolist()
    return found


def _worst_query(report: Report, columns: Sequence[ReportedColumns], query: QueryId, number: int) -> WorstQuery:
    import numpy as np

    trials = {
        summary.framework: [summary.trials[place] for place in places]
        for summary, own in zip(report.frameworks, columns, strict=True)
        if (places := np.flatnonzero(own.query == number).tolist())
    }
    flawed = (trial for own in trials.values() for trial in own if _is_flawed(trial))
    return WorstQuery(query, report.queries[query].text, trials, min(flawed, key=_of_trial))


def trial_name(framework: str, query: QueryId, repeat: int = 0) -> str:
    """The name of a trial within its run, as ``bench show`` takes it: ``langgraph:native/17``, ``reference/17/2``."""
    # In quotes where a number would be taken for one.
    shown = f'"{query}"' if isinstance(query, str) and query.isdigit() else str(query)
    return f"{framework}/{shown}" + (f"/{repeat}" if repeat else "")


def _is_flawed(trial: ReportedTrial) -> bool:
    return trial.status != "answered" or quality_of(trial) < 1 or trial.faults > 0


def _of_trial(trial: ReportedTrial) -> tuple[bool, float, int]:
    return trial.status == "not measured", quality_of(trial), -trial.faults
