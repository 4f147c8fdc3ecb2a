"""The power of a comparison, before it is made: which differences so many queries can show.

The tests are those of the verdicts. After a pilot, comparisons like it are drawn, and the share that gets the
verdict is the power. Without one, each query is won, lost or tied as a whole, and what can happen is summed up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING, Any

from trialbed.statistics import UNSEEN
from trialbed_evaluation.planning._pilots import Pilot, as_pilot
from trialbed_evaluation.planning._verdicts import finds_better, finds_equivalent
from trialbed_evaluation.planning._whole_queries import WholeQueries, equivalent_power, mcnemar_power, within_power

if TYPE_CHECKING:
    from numpy.typing import NDArray

NORMAL = NormalDist()

MOST_QUERIES = 10_000_000

DRAWN_QUERIES = 400
"""The most queries of comparisons that are drawn; the normal approximation is good enough for more."""

COMPARISONS = 2_000
"""Comparisons that are drawn, so that a power of 0.8 is known to 0.01."""

CELLS = 150_000
"""Numbers drawn at a time: bounds memory."""

POPULATIONS = 300
"""Populations whose variance stands for all that a pilot leaves open."""

STEPS = 14
"""The most powers that are computed to find a number of queries or a difference."""

CLOSE = 0.025
"""The largest distance of a power's quantile from the one that is asked for: 0.7 points at 80 %."""

FEWEST_QUERIES = 40
"""Queries of a pilot that promises a power."""

LARGEST_ERROR = 0.35
LARGEST_ERROR_WITHOUT = 0.15
"""The largest relative standard errors of a variance with which a power is promised: with the repeats of the pilot or
fewer; and with more, whose noise has to be taken out of the pilot's. By simulation: then the power holds within three
points, on average over the pilots that promise it."""


Spread = WholeQueries | Pilot
"""The variation of differences between two conditions."""

WORST_CASE = WholeQueries(1.0)
"""No scores in [0, 1] vary more."""


def difference_spread(differences: Sequence[Sequence[float]]) -> Spread:
    """The spread that a pilot shows.

    Differences that are asked for are in favour of the side that did better in the pilot. Where nothing changed in it,
    two more queries are counted that might have changed, as the intervals do.

    Args:
        differences: for each query, the differences of its repeats; at least two queries.

    Raises:
        ValueError: there are too few queries.
    """
    pilot = as_pilot(differences)
    if not any(any(own) for own in pilot.differences):
        return WholeQueries(2 / (pilot.queries + 2), pilot.queries)
    return pilot if sum(map(fmean, pilot.differences)) >= 0 else _mirrored(pilot)


def promise_error(spread: Spread, repeats: int, difference: float) -> float | None:
    """The relative standard error of the variance of a pilot; 0 without one, None where it is not known."""
    if isinstance(spread, WholeQueries):
        return None if spread.queries else 0.0
    if repeats > 1 and spread.repeats == 1:
        return None
    return spread.error(repeats, difference)


def is_promised(spread: Spread, repeats: int, difference: float) -> bool:
    """Return whether the pilot is large enough for a power within three points, on average over such pilots."""
    error = promise_error(spread, repeats, difference)
    if error is None:
        return False
    return not spread.queries or (spread.queries >= FEWEST_QUERIES and error <= _largest_error(spread, repeats))


def _largest_error(spread: Spread, repeats: int) -> float:
    is_more = isinstance(spread, Pilot) and spread.within and repeats > spread.repeats + 0.5
    return LARGEST_ERROR_WITHOUT if is_more else LARGEST_ERROR


def pilot_needed(spread: Spread, repeats: int, difference: float) -> int | None:
    """About how many queries a pilot with as many repeats needs for a promise; None where that is not known."""
    error = promise_error(spread, repeats, difference)
    if error is None:
        return None
    return max(FEWEST_QUERIES, math.ceil(spread.queries * (error / _largest_error(spread, repeats)) ** 2))


def variance_range(spread: Spread, repeats: int, difference: float) -> tuple[float, float]:
    """The variances that a pilot leaves open nine times in ten, over the one that it gives."""
    if isinstance(spread, WholeQueries):
        # After n queries without a change, a share of three in n is as unlikely as 5 %.
        return (0.05, 1.5) if spread.queries else (1.0, 1.0)
    if repeats > 1 and spread.repeats == 1:
        low, high = variance_range(spread, 1, difference)
        return low / repeats, high
    wide = NORMAL.inv_cdf(0.95) * spread.error(repeats, difference)
    return math.exp(-wide), math.exp(wide)


def power_range(spread: Spread, repeats: int, difference: float, *, power: float, alpha: float) -> tuple[float, float]:
    """The chances that a plan with this power has nine times in ten, as the pilot happens to be."""
    z = NORMAL.inv_cdf(1 - alpha / 2)
    low, high = variance_range(spread, repeats, difference)
    distance = z + NORMAL.inv_cdf(power)
    return NORMAL.cdf(distance / math.sqrt(high) - z), NORMAL.cdf(distance / math.sqrt(low) - z)


def difference_power(
    spread: Spread, queries: int, difference: float, *, repeats: int = 1, alpha: float = 0.05
) -> float:
    """The chance that a comparison finds the better side to be better.

    After a pilot, it is the mean over the populations that the pilot leaves open.

    Args:
        difference: the true mean, from -1 to 1.
        alpha: 0.05, divided by the number of comparisons that are made together.
    """
    if queries < math.log2(2 / alpha):
        # Even if every query went one way, there are too few patterns of signs.
        return 0.0
    if isinstance(spread, WholeQueries):
        size = min(1.0, abs(difference))
        return mcnemar_power(max(spread.changed, size), queries, size, alpha)
    if difference < 0:
        return difference_power(_mirrored(spread), queries, -difference, repeats=repeats, alpha=alpha)
    if queries > DRAWN_QUERIES:
        return _large_power(spread, queries, difference, repeats, alpha)
    import numpy as np

    random = np.random.default_rng(queries)
    found = [
        finds_better(drawn, random, alpha=alpha, step=_step(spread, repeats) * factor, largest=factor)
        for drawn, factor in _comparisons(spread, queries, repeats, difference)
    ]
    return float(np.concatenate(found).mean())


def _mirrored(pilot: Pilot) -> Pilot:
    return as_pilot([[-value for value in own] for own in pilot.differences])


def _comparisons(pilot: Pilot, queries: int, repeats: int, difference: float) -> list[tuple[NDArray[Any], float]]:
    """Drawn ones, in blocks, with what their whole differences are."""
    import numpy as np

    # One seed: powers of other differences and numbers of queries differ by less than chance.
    random = np.random.default_rng(0)
    size = min(COMPARISONS, CELLS // queries)
    return [pilot.draw(random, size, queries, repeats, difference) for _ in range(math.ceil(COMPARISONS / size))]


def _step(pilot: Pilot, repeats: int) -> float:
    return pilot.step / repeats if pilot.within else pilot.step


def _deviations(pilot: Pilot, repeats: int, difference: float) -> NDArray[Any]:
    """The standard deviations of queries in populations that the pilot leaves open."""
    import numpy as np

    drawn, _ = pilot.draw(np.random.default_rng(0), POPULATIONS, DRAWN_QUERIES, repeats, difference)
    found: NDArray[Any] = np.maximum(drawn.std(axis=1, ddof=1), 1e-9)
    return found


def _large_power(pilot: Pilot, queries: int, difference: float, repeats: int, alpha: float) -> float:
    z = NORMAL.inv_cdf(1 - alpha / 2)
    # Sums of multiples of a step are as far apart as twice the step, of which a test of them loses half.
    excess = max(0.0, difference - _step(pilot, repeats) / queries) * math.sqrt(queries)
    # However little queries vary, a mean this small could hide queries that were not seen: the interval holds 0.
    room = (difference - z * z * UNSEEN / queries) * math.sqrt(queries)
    deviations = _deviations(pilot, repeats, difference).tolist()
    return fmean(NORMAL.cdf(min(excess / own - z, room / own)) for own in deviations)


def equivalence_power(spread: Spread, queries: int, margin: float, *, repeats: int = 1) -> float:
    """The chance that a comparison shows equivalence within the margin where the sides are equally good.

    As ``difference_power``, it is the mean over the populations that a pilot leaves open.
    """
    if isinstance(spread, WholeQueries):
        return equivalent_power(spread.changed, queries, margin)
    import numpy as np

    if queries > DRAWN_QUERIES:
        levels = np.quantile(_deviations(spread, repeats, 0.0), [(place + 0.5) / 9 for place in range(9)])
        return fmean(_near_power(float(own), _step(spread, repeats), queries, margin) for own in levels)
    random = np.random.default_rng(queries)
    found = [
        finds_equivalent(drawn, margin, random, step=_step(spread, repeats) * factor, largest=factor)
        for drawn, factor in _comparisons(spread, queries, repeats, 0.0)
    ]
    return float(np.concatenate(found).mean())


def _near_power(deviation: float, step: float, queries: int, margin: float) -> float:
    # Three values have the first four moments of a normal distribution.
    size = min(1.0, max(deviation * math.sqrt(3), step))
    return within_power(margin, queries, min(1.0, (deviation / size) ** 2) * queries, size)


def smallest_difference(
    spread: Spread, queries: int, *, repeats: int = 1, power: float = 0.8, alpha: float = 0.05
) -> float | None:
    """The smallest difference that so many queries find with this power; None where none is found with it."""

    def chance(difference: float) -> float:
        return difference_power(spread, queries, difference, repeats=repeats, alpha=alpha)

    if isinstance(spread, WholeQueries):
        if chance(1.0) < power:
            return None
        low, high = 0.0, 1.0
        while high - low > 1e-4:
            middle = (low + high) / 2
            low, high = (low, middle) if chance(middle) >= power else (middle, high)
        return high
    normal = NORMAL.inv_cdf(1 - alpha / 2) + NORMAL.inv_cdf(power)
    start = normal * math.sqrt(spread.variance(repeats, 0.0) / queries)
    return _search(chance, power, min(0.9, start), 1.0)


def queries_for(
    spread: Spread, difference: float, *, repeats: int = 1, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """The number of queries with which a difference is found with this power; None where ten million are too few."""

    def chance(queries: int) -> float:
        return difference_power(spread, queries, difference, repeats=repeats, alpha=alpha)

    if isinstance(spread, WholeQueries) or not difference:
        return _least(lambda queries: chance(queries) >= power) if difference else None
    normal = NORMAL.inv_cdf(1 - alpha / 2) + NORMAL.inv_cdf(power)
    start = normal / abs(difference) * math.sqrt(spread.variance(repeats, difference))
    return _search_queries(chance, power, start, math.ceil(math.log2(2 / alpha)))


def queries_for_equivalence(spread: Spread, margin: float, *, repeats: int = 1, power: float = 0.8) -> int | None:
    """The number of queries with which equivalence is shown with this power where the sides are equally good."""

    def chance(queries: int) -> float:
        return equivalence_power(spread, queries, margin, repeats=repeats)

    if isinstance(spread, WholeQueries):
        return _least(lambda queries: chance(queries) >= power)
    normal = NORMAL.inv_cdf(0.975) + NORMAL.inv_cdf((1 + power) / 2)
    start = normal / margin * math.sqrt(spread.variance(repeats, 0.0))
    return _search_queries(chance, power, start, 2)


def _search_queries(chance: Callable[[int], float], power: float, start: float, fewest: int) -> int | None:
    """By the root of the number of queries, in which the quantile of the power is nearly linear."""

    def queries(root: float) -> int:
        return max(fewest, round(root * root))

    most = math.sqrt(MOST_QUERIES)
    found = _search(lambda root: chance(queries(root)), power, min(max(start, 2.0), most), most)
    return None if found is None else queries(found)


def _search(chance: Callable[[float], float], power: float, start: float, most: float) -> float | None:
    """Find where an increasing chance has this power, by the secant of its quantiles; None if the most is too little.

    Args:
        start: a guess, greater than 0.
    """
    wanted = _quantile(power)
    low, high = 0.0, math.inf
    points: dict[float, float] = {}
    place = start
    for _ in range(STEPS):
        gap = points[place] = _quantile(chance(place)) - wanted
        low, high = (place, high) if gap < 0 else (low, place)
        if abs(gap) < CLOSE or high <= low * 1.005 or low >= most:
            break
        place = _next(points, wanted, low, high, most)
    if low >= most:
        return None
    nearest = min(points, key=lambda found: abs(points[found]))
    # Where the power jumps, the least place that has it.
    return nearest if abs(points[nearest]) < 10 * CLOSE or math.isinf(high) else high


def _next(points: Mapping[float, float], wanted: float, low: float, high: float, most: float) -> float:
    """Return the next place to look at: by the secant, or in the middle of the rest."""
    ordered = sorted(points, key=lambda found: abs(points[found]))
    nearest, gap = ordered[0], points[ordered[0]]
    # As where the quantile is proportional to the place, until there is a second point.
    slope = max(0.5, wanted + 1.96) / nearest
    if len(ordered) > 1:
        secant = (gap - points[ordered[1]]) / (nearest - ordered[1])
        slope = min(3 * slope, max(slope / 3, secant))
    guess = min(most, max(nearest / 3, min(nearest * 3, nearest - gap / slope)))
    if low < guess < high:
        return guess
    return math.sqrt(max(low, high / 9) * high) if high < math.inf else min(most, 3 * low)


def _quantile(chance: float) -> float:
    return NORMAL.inv_cdf(min(0.998, max(0.002, chance)))


def _least(is_enough: Callable[[int], bool]) -> int | None:
    high = 2
    while not is_enough(high):
        high *= 2
        if high > MOST_QUERIES:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
