"""Success over the repeats of a run: in any of k trials of a query, and in all of k."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from trialbed.report._records import ScoreMean, Success
from trialbed.report._trials import ReportedTrial
from trialbed.scoring import JUDGED
from trialbed.statistics import bounded_mean_interval, pass_at_k, pass_hat_k

SOLVED = "Solved"

Estimator = Callable[[int, int, int], float]


def success(measured: Sequence[ReportedTrial]) -> Success:
    """Success in any of k trials of a query, and in each of k.

    A trial succeeds if the judge finds its answer Solved; a failed one does not. Trials that were not measured, and
    those without a verdict are left out, and so is a query for each k that is more than the trials that are left of
    it. Both are empty where no query has several trials.
    """
    outcomes: dict[int | str, list[bool]] = defaultdict(list)
    for trial in measured:
        solved = _is_solved(trial)
        if solved is not None:
            outcomes[trial.query_id].append(solved)
    most = max(map(len, outcomes.values()), default=0)
    numbers = range(1, most + 1) if most > 1 else ()
    return Success(
        any={k: _figure(outcomes, k, pass_at_k) for k in numbers},
        each={k: _figure(outcomes, k, pass_hat_k) for k in numbers},
    )


def _is_solved(trial: ReportedTrial) -> bool | None:
    if trial.status == "failed":
        return False
    score = trial.score(JUDGED)
    return None if score is None or score.value is None else score.label == SOLVED


def _figure(outcomes: Mapping[int | str, Sequence[bool]], k: int, estimate: Estimator) -> ScoreMean:
    """The mean over the queries that have k trials; each counts once, so its repeats do not narrow the interval."""
    values = {query_id: [estimate(len(own), sum(own), k)] for query_id, own in outcomes.items() if len(own) >= k}
    low, high, _ = bounded_mean_interval(values)
    return ScoreMean(fmean(value for (value,) in values.values()), (low, high), len(values))
