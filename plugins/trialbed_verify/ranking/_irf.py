"""Inverse Rank Fusion: exact scores, and the ranks of resampled cases."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from trialbed.statistics import CaseBootstrap
from trialbed_verify.ranking._candidates import METRICS, VendorMetrics

Name = TypeVar("Name", bound=Hashable)

K = 5
"""Added to each rank; with six metrics, a candidate that is first in all of them scores 1."""


CONFIDENCE = 0.95
"""Share of resamples in which one of two candidates must be ahead; otherwise they are tied."""

EPSILON = 1e-12
"""Scores that differ by less are equal, apart from floating-point error."""


def average_ranks(values: Mapping[Name, float], *, more_is_better: bool) -> dict[Name, Fraction]:
    """Return ranks from 1; equal values share the average of their places."""
    ranks = {}
    for name, value in values.items():
        before = sum(other > value if more_is_better else other < value for other in values.values())
        equal = sum(other == value for other in values.values())
        ranks[name] = Fraction(2 * before + equal + 1, 2)
    return ranks


def ranks_by_metric(
    metrics: Mapping[Name, Mapping[str, float]], chosen: Collection[str] = METRICS
) -> dict[Name, dict[str, Fraction]]:
    """Return the average ranks of all candidates in the chosen metrics.

    Args:
        metrics: name -> metric -> value, with all chosen metrics.
    """
    found: dict[Name, dict[str, Fraction]] = {name: {} for name in metrics}
    for metric, about in METRICS.items():
        if metric not in chosen:
            continue
        values = {name: own[metric] for name, own in metrics.items()}
        for name, rank in average_ranks(values, more_is_better=about.more_is_better).items():
            found[name][metric] = rank
    return found


def irf(ranks: Mapping[str, Fraction], k: int = K) -> Fraction:
    """Return a candidate's score: the sum of 1 / (rank + k) over its metrics."""
    return sum((1 / (rank + k) for rank in ranks.values()), Fraction(0))


def places(scores: Mapping[Name, Fraction]) -> dict[Name, int]:
    """Return places from 1, highest score first; equal scores share the better place."""
    return {name: 1 + sum(other > score for other in scores.values()) for name, score in scores.items()}


@dataclass(frozen=True)
class ResampledRanks:
    """The places of candidates in each resample.

    Attributes:
        places: shape (resamples, candidates), from 1.
        scores: the underlying IRF scores, in the same shape.
    """

    places: NDArray[np.int64]
    scores: NDArray[np.float64]

    def interval(self, number: int) -> tuple[int, int]:
        """Return the range of a candidate's places in 95 % of resamples."""
        low, high = np.quantile(self.places[:, number], (0.025, 0.975), method="inverted_cdf")
        return int(low), int(high)

    def ties(self, number: int) -> list[int]:
        """Return the numbers of candidates tied with this one: neither is ahead in 95 % of resamples."""
        own = self.scores[:, [number]]
        ahead = (own > self.scores + EPSILON).mean(axis=0)
        behind = (own < self.scores - EPSILON).mean(axis=0)
        return [
            other
            for other in range(self.scores.shape[1])
            if other != number and max(ahead[other], behind[other]) < CONFIDENCE
        ]


def resampled_ranks(
    candidates: Sequence[VendorMetrics], k: int, resamples: int, seed: int, chosen: Collection[str] = METRICS
) -> ResampledRanks | None:
    """Rank resampled cases, the same ones for all candidates of a model; None if only figures are known."""
    drawn = [_draws(candidate, resamples, seed) for candidate in candidates]
    if not drawn or any(own is None for own in drawn):
        return None
    values = np.stack([own for own in drawn if own is not None], axis=1)
    scores = np.zeros(values.shape[:2])
    for number, (name, metric) in enumerate(METRICS.items()):
        if name in chosen:
            scores += 1 / (_average_ranks(values[:, :, number], metric.more_is_better) + k)
    ahead = scores[:, :, None] + EPSILON < scores[:, None, :]
    return ResampledRanks(1 + ahead.sum(axis=2), scores)


def _draws(candidate: VendorMetrics, resamples: int, seed: int) -> NDArray[np.float64] | None:
    """Return the six metrics in each resample, of shape (resamples, 6)."""
    if candidate.columns is None:
        return None
    pairs = [candidate.columns[metric] for metric in METRICS]
    columns = np.stack([column for pair in pairs for column in pair], axis=1)
    sums = CaseBootstrap(len(columns), resamples, seed).sums(columns)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:, 0::2] / sums[:, 1::2], dtype=np.float64)


def _average_ranks(values: NDArray[np.float64], more_is_better: bool) -> NDArray[np.float64]:
    """Return average ranks in each resample; an undefined value ranks last."""
    goodness = np.nan_to_num(values if more_is_better else -values, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    ahead = (goodness[:, None, :] > goodness[:, :, None]).sum(axis=2)
    equal = (goodness[:, None, :] == goodness[:, :, None]).sum(axis=2)
    return np.asarray(ahead + (equal + 1) / 2, dtype=np.float64)
