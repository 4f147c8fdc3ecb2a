"""Scores over trials: which of them say how good an answer is, their values, means and intervals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from trialbed.records import Query, Score, TrialResult
from trialbed.scoring import ALWAYS
from trialbed.statistics import bounded_mean_interval

LEVEL = 0.95
"""The level of every interval."""

OF_GOLD_ARGUMENTS = ("argument_accuracy", "tool_call_f1", "tool_call_accuracy")
"""Scores that there are only of queries whose gold calls have arguments."""

TIMES = ("wall_time", "model_time", "tool_time", "framework_time")
"""Scores in which a worker's first trial, which does once what later ones find done, is kept apart."""


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


def without_arguments(queries: Iterable[Query]) -> frozenset[int | str]:
    """The queries whose gold calls have no arguments."""
    return frozenset(query.query_id for query in queries if all(call.arguments is None for call in query.gold_calls))


def zero_scores(quality: Collection[str], query_id: int | str, bare: Collection[int | str]) -> list[str]:
    """The scores of quality that a failed trial of a query has as 0.

    Args:
        bare: the queries whose gold calls have no arguments.
    """
    return [name for name in quality if name not in OF_GOLD_ARGUMENTS or query_id not in bare]


def score_values(
    results: Sequence[TrialResult],
    quality: Collection[str],
    bare: Collection[int | str] = (),
    *,
    first_apart: bool | None = None,
) -> list[ScoreValues]:
    """Every score over these trials.

    Args:
        quality: the scores in which a trial that failed counts as 0; in others only trials with an answer count.
        bare: the queries whose gold calls have no arguments.
        first_apart: as ``timed`` takes it.
    """
    given = (score.name for result in results if result.status == "answered" for score in result.scores)
    names = dict.fromkeys([*ALWAYS, *given, *quality])
    times = timed(results, first_apart=first_apart)
    everything, timed_only = _by_name(results, quality, bare), _by_name(times, quality, bare)
    return [_values(name, timed_only if name in TIMES else everything) for name in names]


def first_trials_apart(groups: Iterable[Sequence[TrialResult]]) -> bool:
    """Whether the times of each worker's first trial can be left out for all frameworks alike.

    They cannot if any framework has no other times: it alone would be shown with the start-up of its workers.

    Args:
        groups: the trials of each framework.
    """
    answered = ([result for result in group if result.status == "answered"] for group in groups)
    return all(any(not result.outcome.first for result in group) for group in answered if group)


def timed(results: Sequence[TrialResult], *, first_apart: bool | None = None) -> list[TrialResult]:
    """The trials with an answer whose times count.

    Args:
        first_apart: whether each worker's first is left out; None for wherever there are others.
    """
    answered = [result for result in results if result.status == "answered"]
    if first_apart is False:
        return answered
    return [result for result in answered if not result.outcome.first] or answered


def figures(scores: Sequence[ScoreValues], trials: int) -> dict[str, Any]:
    """A block of means with their denominators and intervals."""
    return {
        "trials": trials,
        "averages": {score.name: score.mean for score in scores},
        "denominators": {score.name: len(score.all) for score in scores},
        "intervals": {score.name: score.interval for score in scores if score.interval},
    }


def mean(values: Iterable[float]) -> float | None:
    """The mean, None of nothing."""
    found = list(values)
    return fmean(found) if found else None


def _by_name(
    results: Sequence[TrialResult], quality: Collection[str], bare: Collection[int | str]
) -> list[tuple[int | str, Mapping[str, Score]]]:
    """The query of each trial and its scores by name; of a failed one those that it has as 0."""
    zeros = {query: _zeros(quality, query, bare) for query in {result.key.query_id for result in results}}
    return [(result.key.query_id, _scores(result, zeros)) for result in results]


def _zeros(quality: Collection[str], query: int | str, bare: Collection[int | str]) -> dict[str, Score]:
    return {name: Score(name=name, value=0.0) for name in zero_scores(quality, query, bare)}


def _scores(result: TrialResult, zeros: Mapping[int | str, Mapping[str, Score]]) -> Mapping[str, Score]:
    if result.status == "answered":
        # The first of a name counts, as it does for `TrialResult.score`.
        return {score.name: score for score in reversed(result.scores)}
    return zeros[result.key.query_id] if result.status == "failed" else {}


def _values(name: str, trials: Iterable[tuple[int | str, Mapping[str, Score]]]) -> ScoreValues:
    values: dict[int | str, list[float]] = defaultdict(list)
    bounded = True
    for query, scores in trials:
        score = scores.get(name)
        if score is not None and score.value is not None and math.isfinite(score.value):
            values[query].append(score.value)
            # A scorer that calls its score bounded and leaves [0, 1] gets a mean, but no interval.
            bounded = bounded and score.bounded and 0 <= score.value <= 1
    return ScoreValues(name, dict(values), bounded)
