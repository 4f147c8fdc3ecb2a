"""The power of comparisons in which each query is won, lost or tied as a whole: what can happen is summed up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from trialbed.statistics import EXACT_BELOW, UNSEEN, lower_end, score_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

NORMAL = NormalDist()

MANY = 120
"""Expected changes from which on the normal approximation is as good as the sum over all that can happen."""

TAIL = 7
"""Standard deviations beyond which nothing is summed up."""


@dataclass(frozen=True)
class WholeQueries:
    """Each query is won, lost or tied as a whole, and repeats change nothing.

    Attributes:
        changed: the share of queries that differ.
        queries: of the pilot; 0 without one.
    """

    changed: float
    queries: int = 0


def equivalent_power(changed: float, queries: int, margin: float) -> float:
    """The chance that the interval lies within the margin where this share of queries differs, either way."""
    if not changed:
        return 1.0
    if changed * queries > MANY:
        return within_power(margin, queries, changed * queries, 1.0)
    return _within_by_counts(margin, queries, changed)


def mcnemar_power(changed: float, queries: int, difference: float, alpha: float) -> float:
    """The chance that McNemar's test is below alpha in favour of the better side: summed over all that can happen."""
    z = NORMAL.inv_cdf(1 - alpha / 2)
    if changed * queries > MANY:
        deviation = math.sqrt(max(0.0, changed - difference * difference) * queries)
        return _beyond(difference * queries - 1 - z * math.sqrt(changed * queries), deviation)
    import numpy as np

    wins = min(1.0, (1 + difference / changed) / 2)
    totals, chances = _likely_counts(queries, changed)
    found = [_win_chance(int(total), wins, alpha, z) for total in totals]
    return float(min(1.0, (chances * np.array(found)).sum()))


def _within_by_counts(margin: float, queries: int, changed: float) -> float:
    """The chance that the interval lies within the margin, where queries are won or lost as a whole: summed up."""
    import numpy as np

    z = NORMAL.inv_cdf(0.975)
    found = 0.0
    for total, chance in zip(*_likely_counts(queries, changed), strict=True):
        better = np.arange(total + 1)
        # Twice as many that got worse as the likeliest distribution with the margin as its mean has of them.
        linear = (2 * queries - 2 * better + total) * margin - total
        root = np.sqrt(linear**2 + 8 * queries * (total - better) * margin * (1 - margin))
        deviation = np.sqrt(queries * ((root - linear) / (2 * queries) + margin * (1 - margin)))
        is_below = queries * margin - (2 * better - total) > z * deviation
        least = _critical(int(total), 0.05, z)
        is_equivalent = is_below & is_below[::-1] & (better < least) & (total - better < least)
        found += float(chance * _binomial(int(total), better[is_equivalent], 0.5).sum())
    return min(1.0, found)


def within_power(margin: float, queries: int, changed: float, size: float) -> float:
    """The chance that the interval lies within the margin, where so many queries differ by the size, either way."""
    deviation = size * math.sqrt(changed) / queries
    counts = {-size: changed / 2, 0.0: queries - changed, size: changed / 2}
    room = margin + lower_end(counts, max(size, UNSEEN), score_quantile(counts, queries))
    if not deviation:
        return 1.0 if room > 0 else 0.0
    # A mean that lies so far out that the test finds a difference is not called equivalent.
    return max(0.0, 2 * NORMAL.cdf(min(room / deviation, NORMAL.inv_cdf(0.975))) - 1)


def _beyond(distance: float, deviation: float) -> float:
    if not deviation:
        return 1.0 if distance > 0 else 0.0
    return NORMAL.cdf(distance / deviation)


def _likely_counts(queries: int, changed: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """The numbers of changes that there can be, but for the unlikeliest, and their chances."""
    import numpy as np

    spread = TAIL * math.sqrt(queries * changed * (1 - changed)) + 1
    low, high = max(0, math.floor(queries * changed - spread)), min(queries, math.ceil(queries * changed + spread))
    totals = np.arange(low, high + 1)
    return totals, _binomial(queries, totals, changed)


def _win_chance(changes: int, wins: float, alpha: float, z: float) -> float:
    """The chance of so many wins among these changes that the test is below alpha."""
    import numpy as np

    least = _critical(changes, alpha, z)
    if least > changes:
        return 0.0
    return float(_binomial(changes, np.arange(least, changes + 1), wins).sum())


@lru_cache(maxsize=4_096)
def _critical(changes: int, alpha: float, z: float) -> int:
    """The least number of wins at which the test is below alpha; more than there are where none is."""
    if changes >= EXACT_BELOW:
        return math.floor((changes + 1 + z * math.sqrt(changes)) / 2) + 1
    tail, least = 0.0, changes + 1
    while least > 0:
        tail += math.comb(changes, least - 1) / 2**changes
        if 2 * tail >= alpha:
            break
        least -= 1
    return least


def _binomial(n: int, counts: NDArray[Any], share: float) -> NDArray[Any]:
    """The chances of these counts of successes in n trials."""
    import numpy as np

    if share in (0.0, 1.0):
        certain: NDArray[Any] = (counts == n * share).astype(np.float64)
        return certain
    log_factorials = _log_factorials(1 << n.bit_length())
    logs = log_factorials[n] - log_factorials[counts] - log_factorials[n - counts]
    chances: NDArray[Any] = np.exp(logs + counts * math.log(share) + (n - counts) * math.log1p(-share))
    return chances


@lru_cache(maxsize=32)
def _log_factorials(most: int) -> NDArray[Any]:
    """The logarithms of the factorials up to this number's."""
    import numpy as np

    found: NDArray[Any] = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    return found
