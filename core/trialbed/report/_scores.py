"""Scores over trials: which of them say how good an answer is, their values, means and intervals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from trialbed.records import Score, ScoreDescription
from trialbed.report._records import LEVEL, Figures, ScoreMean, ScoreSummary
from trialbed.report._trials import QueryId, ReportedTrial
from trialbed.scoring import ALWAYS, NONE_ABSENT, TIMES, timed_trials, zero_scores
from trialbed.statistics import bounded_mean_interval, quantile


@dataclass(frozen=True)
class ScoreValues:
    """One score over the trials that have a value for it.

    Attributes:
        values: query -> the values of its repeats.
        bounded: whether all lie in [0, 1], as its scorer says.
    """

    name: str
    values: Mapping[QueryId, Sequence[float]]
    bounded: bool

    @property
    def all(self) -> list[float]:
        """Every value."""
        return [value for repeats in self.values.values() for value in repeats]

    @property
    def mean(self) -> ScoreMean:
        """The mean over trials, with its interval if values lie in [0, 1]."""
        return ScoreMean(*self._mean())

    def summary(self, *, quality: bool, untold: int = 0, description: ScoreDescription | None = None) -> ScoreSummary:
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


def score_values(
    trials: Sequence[ReportedTrial],
    quality: Collection[str],
    absent: Mapping[QueryId, Collection[str]] = NONE_ABSENT,
    *,
    first_apart: bool | None = None,
) -> list[ScoreValues]:
    """Return every score over these trials.

    Args:
        quality: the scores in which a trial that failed counts as 0; in others only trials without failure count.
        absent: the scores that trials of a query cannot have.
        first_apart: as ``timed_trials`` takes it.
    """
    given = (score.name for trial in trials if trial.status == "answered" for score in trial.scores)
    names = dict.fromkeys([*ALWAYS, *given, *quality])
    times = timed_trials(trials, first_apart=first_apart)
    everything, timed_only = _by_name(trials, quality, absent), _by_name(times, quality, absent)
    return [_values(name, timed_only if name in TIMES else everything) for name in names]


def score_summaries(
    trials: Sequence[ReportedTrial],
    quality: Collection[str],
    absent: Mapping[QueryId, Collection[str]] = NONE_ABSENT,
    *,
    first_apart: bool | None = None,
    untold: Mapping[str, int] | None = None,
    described: Mapping[str, ScoreDescription] | None = None,
) -> dict[str, ScoreSummary]:
    """Sum up every score over the trials of a framework.

    Args:
        quality, absent, first_apart: as ``score_values`` takes them.
        untold: score -> the trials without failure for which it could not be determined.
        described: the descriptions of scores by name.
    """
    return {
        found.name: found.summary(
            quality=found.name in quality,
            untold=(untold or {}).get(found.name, 0),
            description=(described or {}).get(found.name),
        )
        for found in score_values(trials, quality, absent, first_apart=first_apart)
    }


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


def _by_name(
    trials: Sequence[ReportedTrial], quality: Collection[str], absent: Mapping[QueryId, Collection[str]]
) -> list[tuple[QueryId, Mapping[str, Score]]]:
    """The query of each trial and its scores by name; of a failed one those that it has as 0."""
    zeros = {query: _zeros(quality, query, absent) for query in {trial.pair[0] for trial in trials}}
    return [(trial.pair[0], _scores(trial, zeros)) for trial in trials]


def _zeros(quality: Collection[str], query: QueryId, absent: Mapping[QueryId, Collection[str]]) -> dict[str, Score]:
    return {name: Score(name=name, value=0.0) for name in zero_scores(quality, query, absent)}


def _scores(trial: ReportedTrial, zeros: Mapping[QueryId, Mapping[str, Score]]) -> Mapping[str, Score]:
    if trial.status == "answered":
        # The first of a name counts, as it does for `ReportedTrial.score`.
        return {score.name: score for score in reversed(trial.scores)}
    return zeros[trial.pair[0]] if trial.status == "failed" else {}


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
