"""The interval of the mean of paired differences."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from trialbed.statistics._intervals import LEVEL, Interval
from trialbed.statistics._paired import are_whole, count_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNSEEN = 0.6
"""A query that was not seen may differ by so much, for a verdict that is to hold then too: chosen by simulation."""

STEPS = 34
"""Halvings of a search: so many that the ends are exact to nine digits."""

TOLERANCE = 1e-12


def paired_interval(
    differences: Sequence[float] | Mapping[float, int] | NDArray[Any], *, unseen: float = 0.0
) -> Interval:
    """Return the interval of the mean of paired differences of scores in [0, 1].

    A score interval: it holds every mean from which the observed one is less than 1.96 standard errors away, where the
    standard error is that of the likeliest distribution with that mean. So it covers where few queries change, and it
    has a width where none does. Where all differences are -1, 0 or 1, it is that of T. Tango, "Equivalence Test and
    Confidence Interval for the Difference in Proportions for the Paired-Sample Design", Statistics in Medicine 17
    (1998), 891-908. For others, such as means over repeats, the likeliest distribution is that of empirical likelihood
    (A. Owen, "Empirical Likelihood Ratio Confidence Intervals for a Single Functional", Biometrika 75 (1988), 237-249)
    over the differences seen and one more at either end, as large as the largest that was seen; and the number of
    standard errors is such that the interval of normally distributed differences is Student's.

    No interval covers every distribution just as often as it says (R. Bahadur and L. Savage, "The Nonexistence of
    Certain Statistical Procedures in Nonparametric Problems", Annals of Mathematical Statistics 27 (1956), 1115-1122):
    one that allows for rare large losses is too wide where there are none.

    Args:
        differences: one per query, all repeats of a query in one, or how often each occurs; at least one, each in
            [-1, 1].
        unseen: how much queries that were not seen may differ by at least.
    """
    import numpy as np

    counts = count_values(differences)
    lows, highs = paired_intervals(np.array([list(counts)]), np.array([list(counts.values())]), unseen=unseen)
    return Interval(float(lows[0]), float(highs[0]))


def paired_intervals(
    values: NDArray[Any], counts: NDArray[Any], *, unseen: float = 0.0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the lower and the upper ends of ``paired_interval`` of each comparison.

    Args:
        values: the differences of its queries.
        counts: how many queries have each of them; not all are 0.
    """
    import numpy as np

    values, queries = np.where(counts > 0, values, 0.0), counts.sum(1)
    # The inverse of a smaller number is none.
    bound = np.maximum(_largest_changes(values, counts), max(unseen, sys.float_info.min))
    z = _quantiles(values, queries)
    mean = (values * counts).sum(1) / queries
    # The upper end is the lower one of the differences the other way round.
    both = _lower_ends(*map(np.concatenate, ((values, -values), (counts, counts), (bound, bound), (z, z))))
    low, high = both[: len(values)], -both[len(values) :]
    # Rounding must not put the mean itself outside.
    return np.minimum(mean, np.maximum(-1.0, low)), np.maximum(mean, np.minimum(1.0, high))


def _largest_changes(values: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
    """Return the largest difference of a query: that seen; more where more than half have it, and 1 without any."""
    import numpy as np

    sizes = np.abs(values)
    largest = sizes.max(1)
    share = np.where(sizes == largest[:, None], counts, 0).sum(1) / counts.sum(1)
    return np.where(largest > 0, np.minimum(1.0, largest * np.maximum(1.0, 2 * share)), 1.0)


def _quantiles(values: NDArray[Any], queries: NDArray[Any]) -> NDArray[Any]:
    """Return the distance of the interval's ends of each comparison, in standard errors."""
    import numpy as np

    rows = list(zip(queries.tolist(), are_whole(values).tolist(), strict=True))
    known = {row: _quantile(row[0], whole=row[1]) for row in set(rows)}
    return np.array([known[row] for row in rows])


def _quantile(queries: int, *, whole: bool) -> float:
    """Return the normal quantile where queries are won or lost as a whole.

    For others, it is one with which the interval is Student's where nothing is tilted; the quantile of his distribution
    is approximated as by M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions" (1964), 26.7.5.
    """
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    freedom = queries - 1
    if not freedom or whole:
        return z
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    student = z + first / freedom + second / freedom**2
    return student * math.sqrt(queries / (freedom + student * student))


def _lower_ends(values: NDArray[Any], counts: NDArray[Any], bound: NDArray[Any], z: NDArray[Any]) -> NDArray[Any]:
    """Return the lower end of the score interval of each comparison.

    The likeliest distributions with lower and lower means lie on a line: first the observed values are tilted, then
    weight moves to the least value that there can be. The end is where the observed mean is z standard errors away.

    Args:
        bound: the least value that there can be is the negative of this.
    """
    import numpy as np

    queries = counts.sum(1)
    shares = counts / queries[:, None]
    seen = (values * shares).sum(1)

    def moments(tilt: NDArray[Any], moved: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return mean and variance of tilted distributions, of whose weight a share has moved to the least value."""
        weights = shares / (1 + tilt[:, None] * values)
        kept = (1 - moved) / weights.sum(1)
        mean = kept * (weights * values).sum(1) - moved * bound
        variance = kept * (weights * (values - mean[:, None]) ** 2).sum(1)
        return mean, variance + moved * (-bound - mean) ** 2

    def is_outside(tilt: NDArray[Any], moved: NDArray[Any]) -> NDArray[Any]:
        mean, variance = moments(tilt, moved)
        found: NDArray[Any] = (seen - mean) ** 2 * queries > z * z * variance + TOLERANCE
        return found

    # At a tilt of 1 / bound, the least value itself would have all the weight.
    steepest, none = np.nextafter(1 / bound, 0), np.zeros(len(bound))
    by_tilt = is_outside(steepest, none)

    def at(place: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        return np.where(by_tilt, place, steepest), np.where(by_tilt, 0.0, place)

    low, high = none, np.where(by_tilt, steepest, 1.0)
    for _ in range(STEPS):
        middle = (low + high) / 2
        is_reached = is_outside(*at(middle))
        low, high = np.where(is_reached, low, middle), np.where(is_reached, middle, high)
    return moments(*at(high))[0]
