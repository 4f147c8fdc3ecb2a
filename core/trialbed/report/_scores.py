"""Scores over trials: which of them say how good an answer is, their values, means and intervals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from types import MappingProxyType

from trialbed.records import Query, Score, ScoreDescription
from trialbed.report._records import LEVEL, Figures, ScoreMean, ScoreSummary
from trialbed.report._trials import QueryId, ReportedTrial
from trialbed.scoring import ALWAYS
from trialbed.statistics import bounded_mean_interval, quantile

OF_GOLD_CALLS = ("api_call_score", "api_precision", "api_f1")
"""Scores that there are only of queries that say which calls solve them."""

OF_GOLD_ARGUMENTS = ("argument_accuracy", "tool_call_f1", "tool_call_accuracy")
"""Scores that there are only of queries whose gold calls have arguments."""

NONE_ABSENT: Mapping[QueryId, Collection[str]] = MappingProxyType({})
"""For queries whose trials can have every score."""

TIMES = ("wall_time", "model_time", "tool_time", "framework_time")
"""Scores in which a worker's first trial, which does once what later ones find done, is kept apart."""


@dataclass(frozen=True)
class ScoreValues:
    """One score over the trials that have a value for it: ``query_id -> values of its repeats``."""

    name: str
    values: dict[QueryId, list[float]]
    bounded: bool

    @property
    def all(self) -> list[float]:
        """Every value."""
        return [value for repeats in self.values.values() for value in repeats]

    @property
    def mean(self) -> ScoreMean:
        """The mean over trials, with its interval if values lie in [0, 1]."""
        return ScoreMean(*self._mean())

    def summary(self, *, quality: bool, untold: int, description: ScoreDescription | None) -> ScoreSummary:
        """The mean, and the median and the quartiles of a score that is not bounded."""
        middle, half, values = None, None, sorted(self.all)
        if values and not self.bounded:
            middle, half = median(values), (quantile(values, 0.25), quantile(values, 0.75))
        return ScoreSummary(
            *self._mean(),
            name=self.name,
            bounded=self.bounded,
            quality=quality,
            median=middle,
            quartiles=half,
            untold=untold,
            description=description,
        )

    def _mean(self) -> tuple[float | None, tuple[float, float] | None, int]:
        values = self.all
        if not values:
            return None, None, 0
        found = bounded_mean_interval(self.values, LEVEL) if self.bounded else None
        return fmean(values), None if found is None else (found.low, found.high), len(values)


def absent_scores(queries: Iterable[Query]) -> dict[QueryId, Collection[str]]:
    """The scores that trials of a query cannot have, for the queries of which there are some."""
    return {query.query_id: names for query in queries if (names := _absent_scores(query))}


def _absent_scores(query: Query) -> Collection[str]:
    if not query.states_calls:
        return (*OF_GOLD_CALLS, *OF_GOLD_ARGUMENTS)
    return OF_GOLD_ARGUMENTS if all(call.arguments is None for call in query.gold_calls) else ()


def zero_scores(
    quality: Collection[str], query_id: QueryId, absent: Mapping[QueryId, Collection[str]] = NONE_ABSENT
) -> list[str]:
    """The scores of quality that a failed trial of a query has as 0.

    Args:
        absent: the scores that trials of a query cannot have.
    """
    left_out = absent.get(query_id, ())
    return [name for name in quality if name not in left_out]


def score_values(
    trials: Sequence[ReportedTrial],
    quality: Collection[str],
    absent: Mapping[QueryId, Collection[str]] = NONE_ABSENT,
    *,
    first_apart: bool | None = None,
) -> list[ScoreValues]:
    """Every score over these trials.

    Args:
        quality: the scores in which a trial that failed counts as 0; in others only trials with an answer count.
        absent: the scores that trials of a query cannot have.
        first_apart: as ``timed_trials`` takes it.
    """
    given = (score.name for trial in trials if trial.status == "answered" for score in trial.scores)
    names = dict.fromkeys([*ALWAYS, *given, *quality])
    times = timed_trials(trials, first_apart=first_apart)
    everything, timed_only = _by_name(trials, quality, absent), _by_name(times, quality, absent)
    return [_values(name, timed_only if name in TIMES else everything) for name in names]


def figures(
    trials: Sequence[ReportedTrial],
    quality: Collection[str] = (),
    absent: Mapping[QueryId, Collection[str]] = NONE_ABSENT,
    *,
    first_apart: bool | None = None,
) -> Figures:
    """The means over a part of the trials."""
    found = score_values(trials, quality, absent, first_apart=first_apart)
    return Figures(len(trials), {score.name: score.mean for score in found})


def first_trials_apart(groups: Iterable[Sequence[ReportedTrial]]) -> bool:
    """Return whether the times of each worker's first trial can be left out for all frameworks alike.

    They cannot if any framework has no other times: it alone would be shown with the start-up of its workers.

    Args:
        groups: the trials of each framework.
    """
    answered = ([trial for trial in group if trial.status == "answered"] for group in groups)
    return all(any(not trial.first for trial in group) for group in answered if group)


def timed_trials(trials: Sequence[ReportedTrial], *, first_apart: bool | None = None) -> list[ReportedTrial]:
    """The trials with an answer whose times count.

    Args:
        first_apart: whether each worker's first is left out; None for wherever there are others.
    """
    answered = [trial for trial in trials if trial.status == "answered"]
    if first_apart is False:
        return answered
    return [trial for trial in answered if not trial.first] or answered


def _by_name(
    trials: Sequence[ReportedTrial], quality: Collection[str], absent: Mapping[QueryId, Collection[str]]
) -> list[tuple[QueryId, Mapping[str, Score]]]:
    """The query of each trial and its scores by name; of a failed one those that it has as 0."""
    zeros = {query: _zeros(quality, query, absent) for query in {trial.query_id for trial in trials}}
    return [(trial.query_id, _scores(trial, zeros)) for trial in trials]


def _zeros(quality: Collection[str], query: QueryId, absent: Mapping[QueryId, Collection[str]]) -> dict[str, Score]:
    return {name: Score(name=name, value=0.0) for name in zero_scores(quality, query, absent)}


def _scores(trial: ReportedTrial, zeros: Mapping[QueryId, Mapping[str, Score]]) -> Mapping[str, Score]:
    if trial.status == "answered":
        # The first of a name counts, as it does for `ReportedTrial.score`.
        return {score.name: score for score in reversed(trial.scores)}
    return zeros[trial.query_id] if trial.status == "failed" else {}


def _values(name: str, trials: Iterable[tuple[QueryId, Mapping[str, Score]]]) -> ScoreValues:
    values: dict[QueryId, list[float]] = defaultdict(list)
    bounded = True
    for query, scores in trials:
        score = scores.get(name)
        if score is not None and score.value is not None and math.isfinite(score.value):
            values[query].append(score.value)
            # A scorer that calls its score bounded and leaves [0, 1] gets a mean, but no interval.
            bounded = bounded and score.bounded and 0 <= score.value <= 1
    return ScoreValues(name, dict(values), bounded)
