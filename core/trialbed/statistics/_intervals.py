"""Confidence intervals, and success over repeats."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEVEL = 0.95
"""The level of intervals, unless a test needs another one."""

STEPS = 34
"""Halvings of a search, which make the ends exact to nine digits."""

TOLERANCE = 1e-12


class Interval(NamedTuple):
    """The ends and the level (0.95 for 95 %) of a confidence interval."""

    low: float
    high: float
    level: float = LEVEL


def clustered_interval(parts: Sequence[float], wholes: Sequence[float]) -> Interval:
    """Return the interval of a share over observations that belong to clusters, such as the trials of a case.

    This is Wilson's score interval with the number of independent observations that would have the variance between
    clusters. It lies between the number of clusters, if all observations of a cluster agree, and the number of
    observations. Source: E. Korn and B. Graubard, "Confidence Intervals for Proportions with Small Expected Number of
    Positive Counts Estimated from Survey Data", Survey Methodology 24 (1998), 193-201.

    Args:
        parts: per cluster, the sum of its observations, each in [0, 1].
        wholes: per cluster, their number. Clusters without observations are skipped; there must be others.
    """
    known = [(part, whole) for part, whole in zip(parts, wholes, strict=True) if whole > 0]
    total = math.fsum(whole for _, whole in known)
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
    """Return a quantile, interpolated between neighbours (type 7 of Hyndman and Fan).

    Args:
        ordered: the values from least to greatest; at least one.
        share: of the values that lie below it, 0.5 for the median.
    """
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def paired_interval(
    differences: Sequence[float] | Mapping[float, int] | NDArray[Any], *, largest: float | None = 1.0
) -> Interval:
    """Return the interval of the mean of paired differences.

    This is a score interval. It holds every mean that lies less than 1.96 standard errors from the observed one, with
    the standard error of the likeliest distribution with that mean. It therefore covers the mean even if few queries
    change, and it has a width even if no query does. If all differences are -1, 0 or 1, it is the interval of T. Tango,
    "Equivalence Test and Confidence Interval for the Difference in Proportions for the Paired-Sample Design",
    Statistics in Medicine 17 (1998), 891-908. For others, such as means over repeats, the likeliest distribution comes
    from empirical likelihood (A. Owen, "Empirical Likelihood Ratio Confidence Intervals for a Single Functional",
    Biometrika 75 (1988), 237-249) over the differences seen and one more at either end, as large as a difference can
    be.

    Unseen queries may therefore differ as much as the score allows. No interval is narrower than the interval of
    equally many queries without differences. An interval that took unseen queries to be like the seen ones would be
    wrong if rare losses are large (R. Bahadur and L. Savage, "The Nonexistence of Certain Statistical Procedures in
    Nonparametric Problems", Annals of Mathematical Statistics 27 (1956), 1115-1122).

    Args:
        differences: one per query, all repeats of a query in one, or how often each occurs; at least one.
        largest: the largest possible difference, which is 1 for scores in [0, 1]. None for a score without bounds; the
            largest seen is then used.
    """
    import numpy as np

    counts = count_values(differences)
    lows, highs = paired_intervals(np.array([list(counts)]), np.array([list(counts.values())]), largest=largest)
    return Interval(float(lows[0]), float(highs[0]))


def paired_intervals(
    values: NDArray[Any], counts: NDArray[Any], *, largest: float | None = 1.0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the lower and the upper ends of ``paired_interval`` for many comparisons.

    Args:
        values: the differences of the queries, a row per comparison.
        counts: how many queries have each difference; not all are 0.
    """
    import numpy as np

    values, queries = np.where(counts > 0, values, 0.0), counts.sum(1)
    # The inverse of a smaller number is not finite.
    bound = np.maximum(_largest_seen(values, counts) if largest is None else largest, sys.float_info.min)
    bound = np.maximum(np.abs(values).max(1), bound)
    mean = (values * counts).sum(1) / queries
    # In shares of the largest: ends are searched to a number of digits, and scores may be of millions or millionths.
    shares = values / bound[:, None]
    # The upper end is the negated lower end of the negated differences.
    both = _lower_ends(*map(np.concatenate, ((shares, -shares), (counts, counts))))
    low, high = np.maximum(-1.0, both[: len(values)]) * bound, np.minimum(1.0, -both[len(values) :]) * bound
    # Rounding must not put the mean itself outside.
    return np.minimum(mean, low), np.maximum(mean, high)


def _largest_seen(values: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
    """Return the largest difference of a query, increased if more than half have it; 1 without any difference."""
    import numpy as np

    sizes = np.abs(values)
    largest = sizes.max(1)
    share = np.where(sizes == largest[:, None], counts, 0).sum(1) / counts.sum(1)
    return np.where(largest > 0, largest * np.maximum(1.0, 2 * share), 1.0)


def _lower_ends(values: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
    """Return the lower end of the score interval of each comparison of values from -1 to 1.

    As the mean decreases, the likeliest distribution first tilts the observed values, then moves weight to the least
    possible value. The end is the mean that is z standard errors below the observed one.
    """
    import numpy as np

    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    queries = counts.sum(1)
    shares = counts / queries[:, None]
    seen = (values * shares).sum(1)

    def moments(tilt: NDArray[Any], moved: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return mean and variance of tilted distributions with a share of their weight moved to the least value."""
        weights = shares / (1 + tilt[:, None] * values)
        kept = (1 - moved) / weights.sum(1)
        mean = kept * (weights * values).sum(1) - moved
        variance = kept * (weights * (values - mean[:, None]) ** 2).sum(1)
        return mean, variance + moved * (-1.0 - mean) ** 2

    def is_outside(tilt: NDArray[Any], moved: NDArray[Any]) -> NDArray[Any]:
        mean, variance = moments(tilt, moved)
        found: NDArray[Any] = (seen - mean) ** 2 * queries > z * z * variance + TOLERANCE
        return found

    # At a tilt of 1, the least value itself would have all the weight.
    none = np.zeros(len(values))
    steepest = np.nextafter(none + 1, none)
    by_tilt = is_outside(steepest, none)

    def at(place: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        return np.where(by_tilt, place, steepest), np.where(by_tilt, 0.0, place)

    low, high = none, np.where(by_tilt, steepest, 1.0)
    for _ in range(STEPS):
        middle = (low + high) / 2
        is_reached = is_outside(*at(middle))
        low, high = np.where(is_reached, low, middle), np.where(is_reached, middle, high)
    return moments(*at(high))[0]


def count_values(values: Iterable[float] | Mapping[float, int] | NDArray[Any]) -> Counter[float]:
    """Return how often each number occurs; there are mostly few different ones."""
    if isinstance(values, Mapping):
        return Counter(values)
    import numpy as np

    numbers = values if isinstance(values, np.ndarray) else np.fromiter(values, np.float64)
    known, counts = np.unique(numbers, return_counts=True)
    return Counter(dict(zip(known.tolist(), counts.tolist(), strict=True)))


def pass_at_k(trials: int, successes: int, k: int) -> float:
    """Return the unbiased estimate of pass@k, the chance that any of k trials succeeds.

    Source: M. Chen et al., "Evaluating Large Language Models Trained on Code", arXiv:2107.03374 (2021), equation 1.

    Args:
        trials: of one case; at least k.
        successes: how many of them succeeded.
    """
    every = math.comb(trials, k)
    return (every - math.comb(trials - successes, k)) / every


def pass_hat_k(trials: int, successes: int, k: int) -> float:
    """Return the unbiased estimate of pass^k, the chance that all of k trials succeed.

    Source: S. Yao et al., "tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains",
    arXiv:2406.12045 (2024), section 5.

    Args:
        trials: of one case; at least k.
        successes: how many of them succeeded.
    """
    return math.comb(successes, k) / math.comb(trials, k)
