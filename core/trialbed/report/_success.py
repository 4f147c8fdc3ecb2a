"""Success over the repeats of a run: in any of k trials of a query, and in all of k."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from trialbed.report._columns import UNKNOWN, ReportedColumns
from trialbed.report._records import ScoreMean, Success
from trialbed.statistics import pass_at_k, pass_hat_k, wilson_interval

Estimator = Callable[[int, int, int], float]


def success(trials: ReportedColumns) -> Success:
    """Success in any of k trials of a query, and in each of k.

    A trial succeeds if the judge finds its answer Solved; a failed one does not. Trials that were not measured, and
    those without a verdict are left out, and so is a query for each k that is more than the trials that are left of
    it. Both are empty where no query has several trials.
    """
    import numpy as np

    verdicts = trials.column("solved")
    known = verdicts != UNKNOWN
    counts = np.bincount(trials.query[known]).tolist()
    solved = np.bincount(trials.query[known], weights=verdicts[known]).astype(np.int64).tolist()
    outcomes = [(n, successes) for n, successes in zip(counts, solved, strict=True) if n]
    most = max(counts, default=0)
    numbers = range(1, most + 1) if most > 1 else ()
    return Success(
        any={k: _figure(outcomes, k, pass_at_k) for k in numbers},
        each={k: _figure(outcomes, k, pass_hat_k) for k in numbers},
    )


def _figure(outcomes: Sequence[tuple[int, int]], k: int, estimate: Estimator) -> ScoreMean:
    """The mean over the queries that have k trials; each counts once, so its repeats do not narrow the interval."""
    values = [estimate(trials, solved, k) for trials, solved in outcomes if trials >= k]
    found = wilson_interval(fmean(values), len(values))
    return ScoreMean(fmean(values), (found.low, found.high), len(values))
