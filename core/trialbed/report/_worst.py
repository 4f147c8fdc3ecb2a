"""Finds the worst trials of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trialbed.report._records import QueryId, WorstQuery
from trialbed.store import TrialRow, TrialTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialbed.report._report import Report

SHOWN = 5
"""Queries that are listed if no other number is asked for."""

DIGITS = 12
"""Digits of mean qualities, so that those of the same trials in another order are equal."""

JUDGING = ("sopr_score", "api_call_score")
"""The scores that say how a trial went, the foremost first."""


def worst_queries(report: Report, most: int = SHOWN) -> list[WorstQuery]:
    """Return the queries on which most went wrong, the worst first; none if everything went right.

    Trials that were not measured come last.
    """
    import numpy as np

    table = report.table
    quality, faults = _quality(table), _faults(table)
    flawed = ~table.answered | (quality < 1) | (faults > 0)
    numbers, first, place = np.unique(table["query"], return_index=True, return_inverse=True)
    if not len(numbers):
        return []
    known = np.bincount(place, table.measured)
    total = np.bincount(place, quality)  # that of a trial that was not measured is 0
    mean = np.round(np.divide(total, known, out=np.zeros_like(total), where=known > 0), DIGITS)
    order = np.lexsort((first, -np.bincount(place, faults), mean, known == 0))
    order = order[np.bincount(place, flawed)[order] > 0]
    return [_worst_query(report, numbers[at], quality, faults) for at in order[:most].tolist()]


def _worst_query(report: Report, number: int, quality: NDArray[Any], faults: NDArray[Any]) -> WorstQuery:
    import numpy as np

    table = report.table
    places = np.flatnonzero(table["query"] == number).tolist()
    trials: dict[str, list[TrialRow]] = {}
    for at in places:
        trials.setdefault(table.labels[int(table["framework"][at])], []).append(table.row(at))
    flawed = [at for at in places if not table.answered[at] or quality[at] < 1 or faults[at] > 0]
    worst = min(flawed, key=lambda at: (table["status"][at] == "not measured", quality[at], -faults[at]))
    query = table.queries[int(number)]
    return WorstQuery(query, report.queries[query].text, trials, table.row(worst))


def _quality(table: TrialTable) -> NDArray[Any]:
    """Return for each trial the mean of the scores that say how it went; one without a value is 0."""
    import numpy as np

    found: NDArray[Any] = np.mean([np.nan_to_num(table.values(name, zeros=True)) for name in JUDGING], axis=0)
    return found


def _faults(table: TrialTable) -> NDArray[Any]:
    found: NDArray[Any] = table["api_errors"] + table["invalid_calls"] + table["request_errors"]
    return found


def trial_name(framework: str, query: QueryId, repeat: int = 0) -> str:
    """Return the name of a trial within its run, as ``bench show`` takes it: ``reference/17/2``."""
    # In quotes if a number would be taken for one.
    shown = f'"{query}"' if isinstance(query, str) and query.isdigit() else str(query)
    return f"{framework}/{shown}" + (f"/{repeat}" if repeat else "")
