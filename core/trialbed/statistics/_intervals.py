"""Confidence intervals of means."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from statistics import NormalDist, fmean
from typing import NamedTuple, TypeVar

QueryId = TypeVar("QueryId", bound=Hashable)


LEVEL = 0.95
"""The level of intervals, unless a test needs another one."""


class Interval(NamedTuple):
    """A confidence interval: its ends and its level (0.95 for 95 %)."""

    low: float
    high: float
    level: float = LEVEL


def bounded_mean_interval(values_by_query: Mapping[QueryId, Sequence[float]]) -> Interval:
    """Return the interval of the mean over all values of a score in [0, 1].

    Wilson's score interval with the number of queries as sample size: repeats of one query may all agree, so
    they count as one observation. It is exact in form for scores of 0 and 1 and conservative for scores
    between, whose variance is at most ``p * (1 - p)``.

    Args:
        values_by_query: the values of each query's repeats; queries without values are left out.

    Raises:
        ValueError: no value is given, or one is not in [0, 1].
    """
    values = [value for repeats in values_by_query.values() for value in repeats]
    if not values:
        raise ValueError("an interval needs at least one value")
    if not all(0 <= value <= 1 for value in values):
        raise ValueError("a bounded score has a value outside [0, 1]; its scorer must set bounded=False")
    queries = sum(1 for repeats in values_by_query.values() if repeats)
    return wilson_interval(fmean(values), queries)


def clustered_interval(parts: Sequence[float], wholes: Sequence[float]) -> Interval:
    """Return the interval of a share over observations that belong to clusters, such as the trials of a case.

    Wilson's score interval with the number of observations that would have the variance between clusters if they
    were independent: from the number of clusters, where all observations of one agree, to their own number. Source:
    E. Korn and B. Graubard, "Confidence Intervals for Proportions with Small Expected Number of Positive Counts
    Estimated from Survey Data", Survey Methodology 24 (1998), 193-201.

    Args:
        parts: per cluster, the sum of its observations, each in [0, 1].
        wholes: per cluster, their number; clusters without any are left out.

    Raises:
        ValueError: no cluster has an observation.
    """
    known = [(part, whole) for part, whole in zip(parts, wholes, strict=True) if whole > 0]
    total = math.fsum(whole for _, whole in known)
    if not known:
        raise ValueError("an interval needs at least one value")
    proportion = min(1.0, max(0.0, math.fsum(part for part, _ in known) / total))
    clusters = len(known)
    squares = math.fsum((part - proportion * whole) ** 2 for part, whole in known)
    if squares == 0 or clusters == 1:
        return wilson_interval(proportion, clusters)
    variance = squares / total**2 * clusters / (clusters - 1)
    effective = proportion * (1 - proportion) / variance
    return wilson_interval(proportion, min(max(effective, min(clusters, total)), total))


def wilson_interval(proportion: float, n: float) -> Interval:
    """Wilson's score interval of a proportion seen in ``n`` observations.

    Source: E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", Journal of
    the American Statistical Association 22 (1927), 209-212.
    """
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    weight = 1 + z * z / n
    centre = (proportion + z * z / (2 * n)) / weight
    half = z / weight * math.sqrt(proportion * (1 - proportion) / n + z * z / (4 * n * n))
    # Rounding must not put the proportion itself outside, as it would at 0 and 1.
    low = min(max(0.0, centre - half), proportion)
    high = max(min(1.0, centre + half), proportion)
    return Interval(low, high)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which this share of values lies, between neighbours in proportion (type 7 of Hyndman and Fan).

    Args:
        ordered: the values from least to greatest; at least one.
        share: 0.5 for the median.
    """
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
