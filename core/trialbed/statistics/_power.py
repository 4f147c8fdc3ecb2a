"""The power of a comparison, before it is made: which differences so many queries can show.

The tests are those of the verdicts: McNemar's where every query is won, lost or tied as a whole, else the sign-flip
permutation test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist, fmean, variance
from typing import TYPE_CHECKING, Any

from trialbed.statistics._paired import EXACT_BELOW, TOLERANCE
from trialbed.statistics._score_interval import UNSEEN, lower_end, score_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

NORMAL = NormalDist()

MANY = 120
"""Expected changes from which on the normal approximation is as good as the sum over all that can happen."""

TAIL = 7
"""Standard deviations beyond which nothing is summed up."""

FINEST = 60
"""Parts of a point that differences can be multiples of; finer ones are taken for continuous."""

LEVELS = tuple((place + 0.5) / 7 for place in range(7))
"""Quantiles of what a pilot leaves open that stand for all of it."""

MOST_QUERIES = 10_000_000


@dataclass(frozen=True)
class DifferenceSpread:
    """How differences between two conditions vary, as a pilot shows it.

    Attributes:
        changed: the share of queries that differ, where each differs by a whole point; None where they differ by less.
        between: the variance of the queries' own differences; with the noise of the pilot's repeats where that is not
            known apart.
        within: the variance of one query's difference from repeat to repeat; 0 where it is not known apart.
        queries: of the pilot; 0 without a pilot.
        step: what all differences of single trials are multiples of, such as 0.5 where answers are Solved, Unsure or
            Unsolved; 0 where they have no step.
        repeats: of the pilot's queries, as their harmonic mean.
        means: the variance of the queries' means in the pilot; None where it is not known.
        error, error_within: the variances of the estimates ``means`` and ``within``.
    """

    changed: float | None
    between: float
    within: float = 0.0
    queries: int = 0
    step: float = 0.0
    repeats: float = 1.0
    means: float | None = None
    error: float = 0.0
    error_within: float = 0.0

    def plausible(self, repeats: int) -> list[DifferenceSpread]:
        """Spreads that the pilot leaves open, each as likely as the others: the more alike, the larger it is."""
        if not self.queries:
            return [self]
        if self.changed is not None and (repeats == 1 or not self.within):
            # The posterior after a pilot, from Jeffreys' prior.
            changed = self.changed * self.queries
            shares = _beta_quantiles(changed + 0.5, self.queries - changed + 0.5)
            return [replace(self, changed=share, between=share, within=0.0) for share in shares]
        if self.means is not None and repeats > self.repeats:
            # What more repeats leave is what queries differ by, which the noise of the pilot's repeats hides.
            found, noise = self.means - self.within / self.repeats, self.error + self.error_within / self.repeats**2
            wide = math.sqrt(noise)
            return [replace(self, between=max(0.0, found + NORMAL.inv_cdf(level) * wide)) for level in LEVELS]
        estimate = self._of_means(repeats)
        error = self.error + self.error_within * (1 / repeats - 1 / self.repeats) ** 2
        # Satterthwaite's degrees of freedom; fewer than with normal differences where few queries carry the variance.
        freedom = min(self.queries - 1.0, 2 * estimate**2 / error) if error and estimate else self.queries - 1.0
        scales = [1 / share for share in _chi_squared_quantiles(freedom)]
        return [
            replace(self, within=self.within * scale, means=estimate * scale, repeats=float(repeats))
            for scale in scales
        ]

    def variance(self, difference: float, repeats: int) -> float:
        """The variance of a query's difference, over so many repeats, where the mean is this."""
        if self.changed is not None and (repeats == 1 or not self.within):
            return max(0.0, max(self.changed, abs(difference)) - difference * difference)
        return self._of_means(repeats)

    def _of_means(self, repeats: int) -> float:
        """The variance of the mean over so many repeats."""
        if self.means is None or repeats > self.repeats:
            return self.between + self.within / repeats
        # Not through ``between``, which is too large on average, as it is never below 0.
        return self.means + self.within * (1 / repeats - 1 / self.repeats)


WORST_CASE = DifferenceSpread(changed=1.0, between=1.0, step=1.0)
"""Every query is won or lost as a whole, and repeats change nothing: no scores in [0, 1] vary more."""


def difference_spread(differences: Sequence[Sequence[float]]) -> DifferenceSpread:
    """The spread that a pilot shows.

    Args:
        differences: for each query, the differences of its repeats; at least two queries.

    Raises:
        ValueError: there are too few queries.
    """
    repeated = [list(own) for own in differences if own]
    if len(repeated) < 2:
        raise ValueError("the spread of differences needs at least two queries")
    every = [value for own in repeated for value in own]
    means = [fmean(own) for own in repeated]
    noise = [variance(own) for own in repeated if len(own) > 1]
    within = fmean(noise) if noise else 0.0
    # What the means of queries vary by beyond the noise of their repeats.
    share = fmean(1 / len(own) for own in repeated)
    mean, spread = fmean(means), variance(means)
    between = max(0.0, spread - within * share)
    whole = all(abs(value) < TOLERANCE or abs(abs(value) - 1) < TOLERANCE for value in every)
    changed = fmean(abs(value) for value in every) if whole else None
    error = fmean((value - mean) ** 4 for value in means) - spread**2
    error_within = variance(noise) / len(noise) if len(noise) > 1 else 0.0
    if not any(every):
        # Nothing changed in the pilot: as the intervals do, count two changes that it might have had.
        changed = 2 / (len(repeated) + 2)
        between = changed
    return DifferenceSpread(
        changed,
        between,
        within,
        len(repeated),
        _step(every),
        repeats=1 / share,
        means=spread if any(every) else None,
        error=max(0.0, error) / len(repeated),
        error_within=error_within,
    )


def _step(values: Sequence[float]) -> float:
    """The largest number that all values are multiples of; 0 where it is small, or they have none."""
    parts = {Fraction(abs(value)).limit_denominator(FINEST) for value in values if abs(value) > TOLERANCE}
    exact = all(min(abs(abs(value) - float(part)) for part in (*parts, Fraction(0))) < 1e-9 for value in set(values))
    whole = math.lcm(*(part.denominator for part in parts))
    if not parts or not exact or whole > FINEST:
        return 0.0
    return math.gcd(*(int(part * whole) for part in parts)) / whole


def difference_power(
    spread: DifferenceSpread, queries: int, difference: float, *, repeats: int = 1, alpha: float = 0.05
) -> float:
    """The chance that a comparison finds a difference: that its two-sided test is below alpha, on the right side.

    It is the mean over the spreads that a pilot leaves open, so that it holds on average over pilots, however small.

    Args:
        difference: the true mean, from -1 to 1.
        alpha: 0.05, divided by the number of comparisons that are made together.
    """
    size = min(1.0, abs(difference))
    if queries < math.log2(2 / alpha):
        # Even if every query went one way, there are too few patterns of signs.
        return 0.0
    return fmean(_difference_power(one, queries, size, repeats, alpha) for one in spread.plausible(repeats))


def _difference_power(spread: DifferenceSpread, queries: int, size: float, repeats: int, alpha: float) -> float:
    if spread.changed is not None and (repeats == 1 or not spread.within):
        return _mcnemar_power(max(spread.changed, size), queries, size, alpha)
    deviation = math.sqrt(spread.variance(size, repeats))
    # Sums of multiples of a step are as far apart as twice the step, of which a test of them loses half.
    step = spread.step / repeats if spread.within else spread.step
    excess = max(0.0, size * queries - step)
    found = _sign_flip_power(excess / math.sqrt(queries) / deviation if deviation else math.inf, queries, alpha)
    # However little queries vary, a mean this small could hide queries that were not seen: the interval holds 0.
    least = score_quantile([UNSEEN], queries) ** 2 * UNSEEN / queries
    return min(found, _beyond(size - least, deviation / math.sqrt(queries)))


def smallest_difference(
    spread: DifferenceSpread, queries: int, *, repeats: int = 1, power: float = 0.8, alpha: float = 0.05
) -> float | None:
    """The smallest difference that so many queries find with this power; None where none is found with it."""

    def is_enough(difference: float) -> bool:
        return difference_power(spread, queries, difference, repeats=repeats, alpha=alpha) >= power

    if not is_enough(1.0):
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def queries_for(
    spread: DifferenceSpread, difference: float, *, repeats: int = 1, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """The number of queries with which a difference is found with this power; None where ten million are too few."""
    return _least(lambda n: difference_power(spread, n, difference, repeats=repeats, alpha=alpha) >= power)


def equivalence_power(spread: DifferenceSpread, queries: int, margin: float, *, repeats: int = 1) -> float:
    """The chance that a comparison shows equivalence within the margin where the sides are equally good.

    As ``difference_power``, it is the mean over the spreads that a pilot leaves open.
    """
    return fmean(_equivalence_power(one, queries, margin, repeats) for one in spread.plausible(repeats))


def _equivalence_power(spread: DifferenceSpread, queries: int, margin: float, repeats: int) -> float:
    deviation = math.sqrt(spread.variance(0.0, repeats))
    if not deviation:
        return 1.0
    if spread.changed is None or repeats > 1:
        # Three values have the first four moments of a normal distribution.
        size = min(1.0, max(deviation * math.sqrt(3), spread.step / repeats))
        return _chance_within(margin, queries, min(1.0, (deviation / size) ** 2) * queries, size)
    if spread.changed * queries > MANY:
        return _chance_within(margin, queries, spread.changed * queries, 1.0)
    return _chance_of_counts_within(margin, queries, spread.changed)


def _chance_of_counts_within(margin: float, queries: int, changed: float) -> float:
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


def _chance_within(margin: float, queries: int, changed: float, size: float) -> float:
    """The chance that the interval lies within the margin, where so many queries differ by the size, either way."""
    deviation = size * math.sqrt(changed) / queries
    counts = {-size: changed / 2, 0.0: queries - changed, size: changed / 2}
    room = margin + lower_end(counts, max(size, UNSEEN), score_quantile(counts, queries))
    if not deviation:
        return 1.0 if room > 0 else 0.0
    # A mean that lies so far out that the test finds a difference is not called equivalent.
    return max(0.0, 2 * NORMAL.cdf(min(room / deviation, NORMAL.inv_cdf(0.975))) - 1)


def queries_for_equivalence(
    spread: DifferenceSpread, margin: float, *, repeats: int = 1, power: float = 0.8
) -> int | None:
    """The number of queries with which equivalence is shown with this power where the sides are equally good."""
    return _least(lambda n: equivalence_power(spread, n, margin, repeats=repeats) >= power)


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


def _beta_quantiles(one: float, other: float) -> list[float]:
    import numpy as np

    shares = (np.arange(4_000) + 0.5) / 4_000
    logs = (one - 1) * np.log(shares) + (other - 1) * np.log1p(-shares)
    summed = np.cumsum(np.exp(logs - logs.max()))
    return [float(share) for share in np.interp(np.array(LEVELS) * summed[-1], summed, shares)]


def _chi_squared_quantiles(freedom: float) -> list[float]:
    """Of the distribution over its mean, by E. Wilson and M. Hilferty, PNAS 17 (1931), 684-688."""
    part = 2 / (9 * freedom)
    return [max(0.01, 1 - part + NORMAL.inv_cdf(level) * math.sqrt(part)) ** 3 for level in LEVELS]


def _beyond(distance: float, deviation: float) -> float:
    if not deviation:
        return 1.0 if distance > 0 else 0.0
    return NORMAL.cdf(distance / deviation)


def _sign_flip_power(noncentrality: float, queries: int, alpha: float) -> float:
    """The chance that the permutation test is below alpha, for differences that are roughly normal.

    The test rejects where the sum of differences is large against the root of the sum of their squares, which is where
    Student's t is: its distribution is approximated as by N. L. Johnson and B. L. Welch, "Applications of the
    Non-Central t-Distribution", Biometrika 31 (1940), 362-389.
    """
    z, freedom = NORMAL.inv_cdf(1 - alpha / 2), queries - 1
    if z * z >= queries:
        return 0.0
    least = z * math.sqrt(freedom / (queries - z * z))
    if math.isinf(noncentrality):
        return 1.0
    return NORMAL.cdf((noncentrality * (1 - 1 / (4 * freedom)) - least) / math.sqrt(1 + least * least / (2 * freedom)))


def _mcnemar_power(changed: float, queries: int, difference: float, alpha: float) -> float:
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
