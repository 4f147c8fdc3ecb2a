"""The interval of the mean of paired differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING, Any

from trialbed.statistics._intervals import LEVEL, Interval
from trialbed.statistics._paired import are_whole, count_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNSEEN = 0.6
"""A query that was not seen may differ by so much, for a verdict that is to hold then too: chosen by simulation."""

STEPS = 34
"""Halvings of a search: so many that the ends are exact to nine digits."""

POINTS = 24
"""Points that are looked at to narrow a search."""

TOLERANCE = 1e-12

MANY = 2_000
"""Values above which sums are numpy's: exact to twelve digits."""


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
    counts = count_values(differences)
    if len(counts) > MANY:
        import numpy as np

        lows, highs = paired_intervals(np.array([list(counts)]), np.array([list(counts.values())]), unseen=unseen)
        return Interval(float(lows[0]), float(highs[0]))
    queries = counts.total()
    bound = max(_largest_change(counts, queries), unseen)
    seen = fmean(counts, counts.values())
    z = score_quantile(counts, queries)
    low = lower_end(counts, bound, z)
    high = -lower_end({-value: count for value, count in counts.items()}, bound, z)
    # Rounding must not put the mean itself outside.
    return Interval(min(seen, max(-1.0, low)), max(seen, min(1.0, high)))


def _largest_change(counts: Mapping[float, int], queries: int) -> float:
    """Return the largest difference of a query: that seen; more where more than half have it, and 1 without any."""
    largest = max(map(abs, counts))
    share = (counts.get(largest, 0) + counts.get(-largest, 0)) / queries
    return min(1.0, largest * max(1.0, 2 * share)) if largest else 1.0


def score_quantile(values: Iterable[float], queries: int) -> float:
    """Return the distance of the interval's ends in standard errors, for differences of these values.

    The normal quantile where queries are won or lost as a whole. Others have one with which the interval is Student's
    where nothing is tilted; the quantile of his distribution is approximated as by M. Abramowitz and I. Stegun,
    "Handbook of Mathematical Functions" (1964), 26.7.5.
    """
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    freedom = queries - 1
    if not freedom or all(value in (-1, 0, 1) for value in values):
        return z
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    student = z + first / freedom + second / freedom**2
    return student * math.sqrt(queries / (freedom + student * student))


def lower_end(counts: Mapping[float, float], bound: float, z: float) -> float:
    """Return the lower end of the score interval of the mean of so many observations of each value.

    The likeliest distributions with lower and lower means lie on a line: first the observed values are tilted, then
    weight moves to the least value that there can be. The end is where the observed mean is z standard errors away.

    Args:
        bound: the least value that there can be is the negative of this.
    """
    total = math.fsum(counts.values())
    shares = [(value, count / total) for value, count in counts.items()]
    mean = math.fsum(value * share for value, share in shares)

    moments = partial(_moments_at, shares, bound)

    def excess(tilt: float, moved: float) -> float:
        """How far the observed mean is outside: above 0 from the end on."""
        tilted, variance = moments(tilt, moved)
        return (mean - tilted) ** 2 * total - (z * z * variance + TOLERANCE)

    # At a tilt of 1 / bound, the least value itself would have all the weight.
    steepest = math.nextafter(1 / bound, 0)
    if excess(steepest, 0.0) > 0:
        return moments(_first(lambda tilt: excess(tilt, 0.0), steepest), 0.0)[0]
    return moments(steepest, _first(lambda moved: excess(steepest, moved), 1.0))[0]


def _moments_at(shares: Sequence[tuple[float, float]], bound: float, tilt: float, moved: float) -> tuple[float, float]:
    """Mean and variance of the tilted distribution, of whose weight a share has moved to the least value."""
    # Lists, as generators take a third longer.
    weights = [(value, share / (1 + tilt * value)) for value, share in shares]
    kept = (1 - moved) / math.fsum([weight for _, weight in weights])
    mean = kept * math.fsum([value * weight for value, weight in weights]) - moved * bound
    variance = kept * math.fsum([weight * (value - mean) ** 2 for value, weight in weights])
    return mean, variance + moved * (-bound - mean) ** 2


def _first(excess: Callable[[float], float], high: float) -> float:
    """Return the least number from 0 on at which an excess is above 0, if it is at the highest: by halving.

    Most halvings need no look at the excess, as a quicker search has come closer to the end before.
    """
    below, above = _bracket(excess, 0.0, high, high / 2**STEPS)
    low = 0.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        is_reached = middle >= above or (middle > below and excess(middle) > 0)
        low, high = (low, middle) if is_reached else (middle, high)
    return high


def _bracket(excess: Callable[[float], float], low: float, high: float, step: float) -> tuple[float, float]:
    """Narrow the ends between which an excess rises above 0 to about a step.

    Source: T. Chandrupatla, "A New Hybrid Quadratic/Bisection Algorithm for Finding the Zero of a Nonlinear Function
    without Using Derivatives", Advances in Engineering Software 28 (1997), 145-149. A point that is nearer to an end
    than a step is taken a step away, so that both ends come close.
    """
    new, old = high, low
    at_new, at_old = excess(new), excess(old)
    part = 0.5
    for _ in range(POINTS if at_old < 0 < at_new else 0):
        if abs(new - old) <= 2 * step:
            break
        least, most = sorted((new, old))
        point = min(max(new + part * (old - new), least + step), most - step)
        found = excess(point)
        if (found > 0) == (at_new > 0):
            third, at_third = new, at_new
        else:
            third, at_third, old, at_old = old, at_old, new, at_new
        new, at_new = point, found
        part = _quadratic_part((new, at_new), (old, at_old), (third, at_third))
    return min(new, old), max(new, old)


Point = tuple[float, float]


def _quadratic_part(new: Point, old: Point, third: Point) -> float:
    """Return how far 0 lies from one point to another by a parabola through three; the middle where that is unsafe."""
    (a, at_a), (b, at_b), (c, at_c) = new, old, third
    if c == b or at_c == at_b:
        return 0.5
    place, value = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
    if value**2 >= place or (1 - value) ** 2 >= 1 - place:
        return 0.5
    first = at_a / (at_b - at_a) * at_c / (at_b - at_c)
    return first + (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)


def paired_intervals(
    values: NDArray[Any], counts: NDArray[Any], *, unseen: float = 0.0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the lower and the upper ends of ``paired_interval`` of each comparison: the same to twelve digits.

    Args:
        values: the differences of its queries.
        counts: how many queries have each of them; not all are 0.
    """
    import numpy as np

    values, queries = np.where(counts > 0, values, 0.0), counts.sum(1)
    sizes = np.abs(values)
    largest = sizes.max(1)
    share = np.where(sizes == largest[:, None], counts, 0).sum(1) / queries
    change = np.where(largest > 0, np.minimum(1.0, largest * np.maximum(1.0, 2 * share)), 1.0)
    bound, z = np.maximum(change, unseen), _quantiles(values, queries)
    mean = (values * counts).sum(1) / queries
    low = _lower_ends(values, counts, bound, z)
    high = -_lower_ends(-values, counts, bound, z)
    return np.minimum(mean, np.maximum(-1.0, low)), np.maximum(mean, np.minimum(1.0, high))


def _quantiles(values: NDArray[Any], queries: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    rows = list(zip(queries.tolist(), are_whole(values).tolist(), strict=True))
    known = {row: score_quantile((1.0,) if row[1] else (0.5,), row[0]) for row in set(rows)}
    return np.array([known[row] for row in rows])


def _lower_ends(values: NDArray[Any], counts: NDArray[Any], bound: NDArray[Any], z: NDArray[Any]) -> NDArray[Any]:
    """Return ``lower_end`` of each comparison, by halvings alone."""
    import numpy as np

    queries = counts.sum(1)
    shares = counts / queries[:, None]
    seen = (values * shares).sum(1)

    def moments(tilt: NDArray[Any], moved: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        weights = shares / (1 + tilt[:, None] * values)
        kept = (1 - moved) / weights.sum(1)
        mean = kept * (weights * values).sum(1) - moved * bound
        variance = kept * (weights * (values - mean[:, None]) ** 2).sum(1)
        return mean, variance + moved * (-bound - mean) ** 2

    def is_outside(tilt: NDArray[Any], moved: NDArray[Any]) -> NDArray[Any]:
        mean, variance = moments(tilt, moved)
        found: NDArray[Any] = (seen - mean) ** 2 * queries > z * z * variance + TOLERANCE
        return found

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
