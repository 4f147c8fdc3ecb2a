"""Success over the repeats of a run: in any of k trials of a query, and in all of k."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from trialbed.records import TrialResult
from trialbed.statistics import bounded_mean_interval, pass_at_k, pass_hat_k

SOLVED = "Solved"

Estimator = Callable[[int, int, int], float]


def repeat_figures(measured: Sequence[TrialResult]) -> dict[str, dict[str, Any]]:
    """``pass_at_k`` and ``pass_hat_k``: k -> the mean over queries, its interval and the number of queries.

    A trial succeeds if the judge finds its answer Solved; a failed one does not. Trials that were not measured, and
    those without a verdict are left out, and so is a query for each k that is more than the trials that are left of
    it. Both are empty where no query has several trials.
    """
    outcomes: dict[int | str, list[bool]] = defaultdict(list)
    for result in measured:
        solved = _solved(result)
        if solved is not None:
            outcomes[result.key.query_id].append(solved)
    most = max(map(len, outcomes.values()), default=0)
    numbers = range(1, most + 1) if most > 1 else ()
    return {
        "pass_at_k": {str(k): _figure(outcomes, k, pass_at_k) for k in numbers},
        "pass_hat_k": {str(k): _figure(outcomes, k, pass_hat_k) for k in numbers},
    }


def _solved(result: TrialResult) -> bool | None:
    if result.status == "failed":
        return False
    score = result.score("sopr_score")
    return None if score is None or score.value is None else score.label == SOLVED


def _figure(outcomes: Mapping[int | str, Sequence[bool]], k: int, estimate: Estimator) -> dict[str, float | int]:
    """The mean over the queries that have k trials; each counts once, so its repeats do not narrow the interval."""
    values = {query_id: [estimate(len(own), sum(own), k)] for query_id, own in outcomes.items() if len(own) >= k}
    low, high, _ = bounded_mean_interval(values)
    return {"value": fmean(value for (value,) in values.values()), "low": low, "high": high, "n": len(values)}
