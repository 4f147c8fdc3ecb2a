"""The power of a comparison, before it is made: the differences that a number of queries can show.

Comparisons are drawn from populations that the pilot leaves open, each gets its verdict, and the share with the verdict
that is wanted is the power: a mean over all that the pilot leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist, fmean, stdev

from trialbed.statistics import (
    PairedVerdict,
    paired_intervals,
    paired_p_values,
    quantile,
    queries_for_unseen,
    unseen_reach,
)
from trialbed_evaluation.planning._pilots import Pilot, Populations

NORMAL = NormalDist()

MOST_QUERIES = 10_000_000

DRAWN_QUERIES = 200
"""The most queries of comparisons that are drawn, unless each is won or lost as a whole: the normal approximation is
good enough for more."""

SIGNS = 499
"""Sign patterns of a test, in simulations."""

COMPARISONS = 500
"""Comparisons that are drawn for a power."""

GUESSES = (100, 100, 200, COMPARISONS)
"""Comparisons that are drawn at each guess at a place that has a power."""

CERTAIN = 10
"""Without a pilot, this many times as many are drawn: its own uncertainty would be larger than that of the drawing."""

POPULATIONS = 300
"""Populations whose variances stand for all that a pilot leaves open."""

FEWEST_QUERIES = 40
"""Queries of a pilot that promises a power."""

LARGEST_ERROR = 0.35
LARGEST_ERROR_WITHOUT = 0.15
"""The largest relative standard errors of a variance with which a power is promised: with the repeats of the pilot or
fewer; and with more, whose noise has to be taken out of the pilot's. By simulation: then the power holds within three
points, on average over the pilots that promise it."""


def difference_power(
    pilot: Pilot,
    queries: int,
    difference: float,
    *,
    repeats: int = 1,
    alpha: float = 0.05,
    draws: int = COMPARISONS,
) -> float:
    """Return the chance that a comparison finds the better side to be better.

    Args:
        difference: the true mean, greater than 0 and at most 1.
        alpha: 0.05, divided by the number of comparisons that are made together.
        draws: how many comparisons are drawn.
    """
    populations = pilot.populations(draws * CERTAIN if pilot.is_certain else draws, repeats, difference)
    if queries <= DRAWN_QUERIES or populations.is_whole:
        return _share(populations, queries, "better", alpha=alpha)
    z = NORMAL.inv_cdf(1 - alpha / 2)
    # However little queries vary, a mean this small could hide queries that were not seen: the interval holds 0.
    room = difference - unseen_reach(queries)
    errors = (populations.variances / queries) ** 0.5
    return fmean(NORMAL.cdf(min(difference / error - z, room / error)) for error in errors.tolist())


def equivalence_power(
    pilot: Pilot, queries: int, margin: float, *, repeats: int = 1, draws: int = COMPARISONS
) -> float:
    """Return the chance that a comparison shows equivalence within the margin where the sides are equally good."""
    populations = pilot.populations(draws * CERTAIN if pilot.is_certain else draws, repeats, 0.0)
    if queries <= DRAWN_QUERIES or populations.is_whole:
        return _share(populations, queries, "equivalent", margin=margin)
    z = NORMAL.inv_cdf(0.975)
    errors = (populations.variances / queries) ** 0.5
    # A mean that lies so far out that the test finds a difference is not called equivalent.
    rooms = [min(z, margin / error - max(z, unseen_reach(queries) / error)) for error in errors.tolist()]
    return fmean(max(0.0, 2 * NORMAL.cdf(room) - 1) for room in rooms)


def _share(
    populations: Populations, queries: int, wanted: PairedVerdict, *, alpha: float = 0.05, margin: float = 1.0
) -> float:
    """Return the share of comparisons with this verdict."""
    import numpy as np

    values, counts = populations.values, populations.draw(np.random.default_rng(queries), queries)
    low, high = paired_intervals(values, counts)
    is_better, is_off_0 = low > 0, (low > 0) | (high < 0)
    is_small = (-margin < low) & (high < margin) & ((values != 0) & (counts > 0)).any(1)
    asked = is_better if wanted == "better" else is_small & is_off_0
    p = np.ones(len(counts))
    p[asked] = paired_p_values(values[asked], counts[asked], draws=SIGNS)
    found = is_better & (p < alpha) if wanted == "better" else is_small & ~(is_off_0 & (p < alpha))
    return float(found.mean())


def smallest_difference(
    pilot: Pilot, queries: int, *, repeats: int = 1, power: float = 0.8, alpha: float = 0.05
) -> float | None:
    """Return the smallest difference that so many queries find with this power; None where none is found with it."""
    if queries < math.log2(2 / alpha):
        # Even if every query went one way, there are too few patterns of signs.
        return None
    distance = NORMAL.inv_cdf(1 - alpha / 2), NORMAL.inv_cdf(power)
    deviation = _deviation(pilot, repeats, 0.0)

    def chance(difference: float, draws: int) -> float:
        found = difference_power(pilot, queries, difference, repeats=repeats, alpha=alpha, draws=draws)
        return _quantile(found)

    error = deviation / math.sqrt(queries)
    start = max(sum(distance) * error, unseen_reach(queries) + distance[1] * error)
    found = _solve(chance, *distance, start, 1.0)
    return found if found < 1 or chance(1.0, GUESSES[0]) >= distance[1] else None


def queries_for(
    pilot: Pilot, difference: float, *, repeats: int = 1, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """Return the number of queries that find a difference with this power; None where ten million are too few."""
    distance = NORMAL.inv_cdf(1 - alpha / 2), NORMAL.inv_cdf(power)
    start = _root(difference, _deviation(pilot, repeats, difference), *distance)
    fewest = math.ceil(math.log2(2 / alpha))

    def chance(root: float, draws: int) -> float:
        queries = max(fewest, round(root * root))
        return _quantile(difference_power(pilot, queries, difference, repeats=repeats, alpha=alpha, draws=draws))

    return _queries(_solve(chance, *distance, start, math.sqrt(MOST_QUERIES)), fewest)


def queries_for_equivalence(pilot: Pilot, margin: float, *, repeats: int = 1, power: float = 0.8) -> int | None:
    """Return the number of queries that show equivalence with this power where the sides are equally good."""
    distance = NORMAL.inv_cdf(0.975), NORMAL.inv_cdf((1 + power) / 2)
    start = _root(margin, _deviation(pilot, repeats, 0.0), *distance)

    def chance(root: float, draws: int) -> float:
        found = equivalence_power(pilot, max(2, round(root * root)), margin, repeats=repeats, draws=draws)
        return _quantile((1 + found) / 2)

    return _queries(_solve(chance, *distance, start, math.sqrt(MOST_QUERIES)), 2)


def _root(distance: float, deviation: float, z: float, beta: float) -> float:
    """Return the root of about the number of queries whose interval reaches no farther than this, with a chance."""
    return max((z + beta) * deviation / distance, math.sqrt(queries_for_unseen(distance, deviation, beta=beta)))


def _queries(root: float, fewest: int) -> int | None:
    found = max(fewest, round(root * root))
    return found if found < MOST_QUERIES else None


def _deviation(pilot: Pilot, repeats: int, difference: float) -> float:
    return math.sqrt(fmean(pilot.populations(POPULATIONS, repeats, difference).variances.tolist()))


def _solve(chance: Callable[[float, int], float], z: float, wanted: float, start: float, most: float) -> float:
    """Find the place at which the quantile of a power is the one that is wanted.

    The quantile grows by nearly as much as the place (a difference, or the root of a number of queries), from -z on.

    Args:
        chance: the quantile at a place, by so many comparisons.
        most: places go no farther.
    """
    place, seen = min(start, most), None
    for draws in GUESSES:
        found = chance(place, draws)
        slope = max(0.2, z + found) / place
        if seen is not None and place != seen[0]:
            # It grows faster where few queries could hide others that were not seen.
            slope = min(4 * slope, max(slope, (found - seen[1]) / (place - seen[0])))
        seen = place, found
        place = min(most, 3 * place, max(place / 3, place + (wanted - found) / slope))
    return place


def _quantile(chance: float) -> float:
    return NORMAL.inv_cdf(min(0.998, max(0.002, chance)))


def is_promised(pilot: Pilot, repeats: int, difference: float) -> bool:
    """Return whether the pilot is large enough for a power within three points, on average over such pilots."""
    if pilot.is_certain:
        return True
    error = _error(pilot, repeats, difference)
    return error is not None and pilot.queries >= FEWEST_QUERIES and error <= _largest_error(pilot, repeats)


def pilot_needed(pilot: Pilot, repeats: int, difference: float) -> int | None:
    """Estimate how many queries a pilot with as many repeats needs for a promise; None where that is not known."""
    error = _error(pilot, repeats, difference)
    if error is None:
        return None
    return max(FEWEST_QUERIES, math.ceil(pilot.queries * (error / _largest_error(pilot, repeats)) ** 2))


def _error(pilot: Pilot, repeats: int, difference: float) -> float | None:
    """Return the relative standard error of the pilot's variance; None where it is not known."""
    if pilot.is_certain:
        return 0.0
    if (repeats > 1 and pilot.repeats == 1) or pilot.is_uniform:
        return None
    variances = pilot.populations(POPULATIONS, repeats, difference).variances.tolist()
    return stdev(map(math.log, variances))


def _largest_error(pilot: Pilot, repeats: int) -> float:
    return LARGEST_ERROR_WITHOUT if pilot.within and repeats > pilot.repeats + 0.5 else LARGEST_ERROR


def variance_range(pilot: Pilot, repeats: int, difference: float) -> tuple[float, float]:
    """Return the variances that a pilot leaves open nine times in ten, over their mean."""
    if pilot.is_certain:
        return 1.0, 1.0
    variances = sorted(pilot.populations(POPULATIONS, repeats, difference).variances.tolist())
    low, high = (quantile(variances, share) / fmean(variances) for share in (0.05, 0.95))
    # Without repeats in the pilot, all of the variance may be noise.
    return low / repeats if pilot.repeats == 1 else low, high


def power_range(pilot: Pilot, repeats: int, difference: float, *, power: float, alpha: float) -> tuple[float, float]:
    """Return the chances that a plan with this power has nine times in ten, as the pilot happens to be."""
    z = NORMAL.inv_cdf(1 - alpha / 2)
    low, high = variance_range(pilot, repeats, difference)
    distance = z + NORMAL.inv_cdf(power)
    return NORMAL.cdf(distance / math.sqrt(high) - z), NORMAL.cdf(distance / math.sqrt(low) - z)
