"""The interval of the mean of paired differences."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from trialbed.statistics._intervals import LEVEL, Interval
from trialbed.statistics._paired import count_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEPS = 34
"""Halvings of a search: so many that the ends are exact to nine digits."""

TOLERANCE = 1e-12


def paired_interval(
    differences: Sequence[float] | Mapping[float, int] | NDArray[Any], *, largest: float | None = 1.0
) -> Interval:
    """Return the interval of the mean of paired differences.

    A score interval: it holds every mean from which the observed one is less than 1.96 standard errors away, where the
    standard error is that of the likeliest distribution with that mean. So it covers where few queries change, and it
    has a width where none does. Where all differences are -1, 0 or 1, it is that of T. Tango, "Equivalence Test and
    Confidence Interval for the Difference in Proportions for the Paired-Sample Design", Statistics in Medicine 17
    (1998), 891-908. For others, such as means over repeats, the likeliest distribution is that of empirical likelihood
    (A. Owen, "Empirical Likelihood Ratio Confidence Intervals for a Single Functional", Biometrika 75 (1988), 237-249)
    over the differences seen and one more at either end, as large as a difference can be.

    So queries that were not seen may differ by all that the score allows, whatever was seen: no interval is narrower
    than that of as many queries of which none differs. One that took them to be like those seen would be wrong where
    rare losses are large (R. Bahadur and L. Savage, "The Nonexistence of Certain Statistical Procedures in
    Nonparametric Problems", Annals of Mathematical Statistics 27 (1956), 1115-1122).

    Args:
        differences: one per query, all repeats of a query in one, or how often each occurs; at least one.
        largest: the largest difference that there can be: 1 of scores in [0, 1]. None where the score has no bounds:
            the largest that was seen takes its place.
    """
    import numpy as np

    counts = count_values(differences)
    lows, highs = paired_intervals(np.array([list(counts)]), np.array([list(counts.values())]), largest=largest)
    return Interval(float(lows[0]), float(highs[0]))


def paired_intervals(
    values: NDArray[Any], counts: NDArray[Any], *, largest: float | None = 1.0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the lower and the upper ends of ``paired_interval`` of each comparison.

    Args:
        values: the differences of its queries.
        counts: how many queries have each of them; not all are 0.
    """
    import numpy as np

    values, queries = np.where(counts > 0, values, 0.0), counts.sum(1)
    # The inverse of a smaller number is none.
    bound = np.maximum(_largest_seen(values, counts) if largest is None else largest, sys.float_info.min)
    bound = np.maximum(np.abs(values).max(1), bound)
    mean = (values * counts).sum(1) / queries
    # In shares of the largest: ends are searched to a number of digits, and scores may be of millions or millionths.
    shares = values / bound[:, None]
    # The upper end is the lower one of the differences the other way round.
    both = _lower_ends(*map(np.concatenate, ((shares, -shares), (counts, counts))))
    low, high = np.maximum(-1.0, both[: len(values)]) * bound, np.minimum(1.0, -both[len(values) :]) * bound
    # Rounding must not put the mean itself outside.
    return np.minimum(mean, low), np.maximum(mean, high)


def _largest_seen(values: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
    """Return the largest difference of a query: more than that where more than half have it, and 1 without any."""
    import numpy as np

    sizes = np.abs(values)
    largest = sizes.max(1)
    share = np.where(sizes == largest[:, None], counts, 0).sum(1) / counts.sum(1)
    return np.where(largest > 0, largest * np.maximum(1.0, 2 * share), 1.0)


def _lower_ends(values: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
    """Return the lower end of the score interval of each comparison of values from -1 to 1.

    The likeliest distributions with lower and lower means lie on a line: first the observed values are tilted, then
    weight moves to the least value that there can be. The end is where the observed mean is z standard errors away.
    """
    import numpy as np

    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    queries = counts.sum(1)
    shares = counts / queries[:, None]
    seen = (values * shares).sum(1)

    def moments(tilt: NDArray[Any], moved: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return mean and variance of tilted distributions, of whose weight a share has moved to the least value."""
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
