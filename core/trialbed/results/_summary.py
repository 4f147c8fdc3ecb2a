"""The figures over all trials of a framework, each with its denominator."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from trialbed.contracts import STATUS_VALUES
from trialbed.records import Run, Score, TrialResult
from trialbed.statistics import bounded_mean_interval

LEVEL = 0.95
"""The level of every interval."""

ALWAYS = ("sopr_score", "api_call_score", "has_finish")
"""Scores that a summary has even if no trial could be scored."""


@dataclass(frozen=True)
class ScoreValues:
    """One score over the trials that have a value for it: ``query_id -> values of its repeats``."""

    name: str
    values: dict[int | str, list[float]]
    bounded: bool

    @property
    def all(self) -> list[float]:
        """Every value."""
        return [value for repeats in self.values.values() for value in repeats]

    @property
    def mean(self) -> float | None:
        """The mean over trials, None where there is no value."""
        return fmean(self.all) if self.all else None

    @property
    def interval(self) -> list[float] | None:
        """The interval of the mean, if values lie in [0, 1]."""
        if not self.all or not self.bounded:
            return None
        found = bounded_mean_interval(self.values, LEVEL)
        return [found.low, found.high]


def summary(run: Run, results: Sequence[TrialResult]) -> dict[str, Any]:
    """The document's ``summary``.

    A mean is over the trials that ended with an answer and whose score could be told: ``denominators`` has
    how many. ``intervals`` has 95% Wilson intervals of bounded scores, clustered by query. Percentages of
    statuses are of the trials with a verdict. Times are seconds.
    """
    answered = [result for result in results if not result.failed]
    scores = [_values(name, answered) for name in _names(answered)]
    return {
        "total_queries": len({result.key.query_id for result in results}),
        "total_trials": len(results),
        "error_count": len(results) - len(answered),
        "errors": dict(Counter(result.outcome.failure.kind for result in results if result.outcome.failure)),
        **_statuses(answered),
        **_finish(answered),
        **{f"average_{score.name}": score.mean for score in scores},
        "average_gold_answer_time": None,
        "average_system_answer_time": _mean(result.outcome.wall_time for result in answered),
        "average_evaluation_time": _mean(result.evaluation_time for result in answered),
        "overall_time": run.overall_time,
        "medians": {score.name: median(score.all) for score in scores if score.all and not score.bounded},
        "denominators": _denominators(answered, scores),
        "intervals": {score.name: score.interval for score in scores if score.interval},
        "interval_level": LEVEL,
        "untold_scores": _untold(answered),
        "claims": _claims(answered),
    }


def _names(answered: Sequence[TrialResult]) -> list[str]:
    return list(dict.fromkeys([*ALWAYS, *(score.name for result in answered for score in result.scores)]))


def _values(name: str, answered: Sequence[TrialResult]) -> ScoreValues:
    values: dict[int | str, list[float]] = defaultdict(list)
    bounded = True
    for result in answered:
        score = result.score(name)
        if score is not None and score.value is not None and math.isfinite(score.value):
            values[result.key.query_id].append(score.value)
            # A scorer that calls its score bounded and leaves [0, 1] gets a mean, but no interval.
            bounded = bounded and score.bounded and 0 <= score.value <= 1
    return ScoreValues(name, dict(values), bounded)


def _statuses(answered: Sequence[TrialResult]) -> dict[str, Any]:
    counts = Counter(score.label for score in _of("sopr_score", answered))
    judged = sum(counts.values())
    figures: dict[str, Any] = {}
    for status in STATUS_VALUES:
        figures[f"{status.lower()}_count"] = counts[status]
        figures[f"{status.lower()}_percentage"] = _percentage(counts[status], judged)
    return figures


def _finish(answered: Sequence[TrialResult]) -> dict[str, Any]:
    scores = _of("has_finish", answered)
    finished = sum(1 for score in scores if score.value)
    return {"finish_count": finished, "finish_percentage": _percentage(finished, len(scores))}


def _of(name: str, answered: Sequence[TrialResult]) -> list[Score]:
    scores = (result.score(name) for result in answered)
    return [score for score in scores if score is not None and score.value is not None]


def _denominators(answered: Sequence[TrialResult], scores: Sequence[ScoreValues]) -> dict[str, int]:
    judged = len(_of("sopr_score", answered))
    return {
        **{score.name: len(score.all) for score in scores},
        **dict.fromkeys((status.lower() for status in STATUS_VALUES), judged),
        "finish": len(_of("has_finish", answered)),
        "gold_answer_time": 0,
        "system_answer_time": len(answered),
        "evaluation_time": len(answered),
    }


def _untold(answered: Sequence[TrialResult]) -> dict[str, int]:
    return dict(Counter(score.name for result in answered for score in result.scores if score.value is None))


def _claims(answered: Sequence[TrialResult]) -> dict[str, int]:
    details = [score.detail for score in _of("claimed_vs_observed", answered)]
    return {kind: sum(len(detail.get(kind, ())) for detail in details) for kind in ("invented", "unreported")}


def _percentage(count: int, total: int) -> float | None:
    return 100 * count / total if total else None


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return fmean(found) if found else None
