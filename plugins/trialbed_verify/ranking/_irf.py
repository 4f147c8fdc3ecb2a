"""Inverse Rank Fusion, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import TypeVar

from trialbed_verify.ranking._metrics import METRICS

Name = TypeVar("Name", bound=Hashable)

K = 5
"""Added to each rank: with six metrics it puts a score of 1 to who is first in all."""


def average_ranks(values: Mapping[Name, float], *, more_is_better: bool) -> dict[Name, Fraction]:
    """Ranks from 1; those that are equal share the average of their places."""
    ranks = {}
    for name, value in values.items():
        before = sum(other > value if more_is_better else other < value for other in values.values())
        equal = sum(other == value for other in values.values())
        ranks[name] = Fraction(2 * before + equal + 1, 2)
    return ranks


def ranks_by_metric(metrics: Mapping[Name, Mapping[str, float]]) -> dict[Name, dict[str, Fraction]]:
    """The average rank of each in each of the six metrics.

    Args:
        metrics: name -> metric -> value; every metric for every name.
    """
    found: dict[Name, dict[str, Fraction]] = {name: {} for name in metrics}
    for metric, about in METRICS.items():
        values = {name: own[metric] for name, own in metrics.items()}
        for name, rank in average_ranks(values, more_is_better=about.more_is_better).items():
            found[name][metric] = rank
    return found


def irf(ranks: Mapping[str, Fraction], k: int = K) -> Fraction:
    """The score of one: the sum of 1 / (rank + k) over its metrics."""
    return sum((1 / (rank + k) for rank in ranks.values()), Fraction(0))


def places(scores: Mapping[Name, Fraction]) -> dict[Name, int]:
    """Places from 1, best score first; those of equal score share the better place."""
    return {name: 1 + sum(other > score for other in scores.values()) for name, score in scores.items()}
