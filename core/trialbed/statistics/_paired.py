"""Tests of two conditions on the same cases, the verdict on them, and the power of more cases."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from trialbed.statistics._intervals import Interval, count_values, paired_intervals
from trialbed.statistics._resampling import LARGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALPHA = 0.05
"""A difference is shown if its p-value is below this."""

EXACT_UP_TO = 1_000
"""McNemar's test is exact up to this many discordant pairs. With more, chi-squared is within 0.0001 of it."""

BLOCK = 500
"""Sign patterns drawn at a time, to bound memory."""

TOLERANCE = 1e-12

MOST_PARTS = 1_000
"""The finest step to look for, as parts of the largest difference. Finer ones change no p-value by 0.0001."""

DIGITS = 9
"""Decimals of differences in shares of the largest, which are thirds, or sevenths, but for rounding."""

NEAR = 1e-6
"""Largest distance of a multiple of such a share from a whole number."""

POWER = 0.8
"""The share of resamples that must have a verdict for a number of tasks to be enough."""

SMALL = (6, 8, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 500, 700)
SIZES = (*SMALL, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000)
"""Numbers of tasks among which the first that is enough is looked for; fewer than 6 have no p-value below 0.05."""

DRAWS, SIGNS = 200, 999
"""Resamples of a pilot, and sign patterns for testing each. Shares of verdicts are known to 3 points."""

DRAWN = 100
"""Tasks that differ beyond which the test of a resample is not drawn: p-values are off by less than 0.002."""

STEPS = 20
"""Steps up to the largest difference. A pilot with more than twice as many differences is rounded to them."""

PairedVerdict = Literal["better", "worse", "equivalent", "identical", "too few"]
Test = TypeVar("Test")


class PairedTest(NamedTuple):
    """A two-sided test that two conditions are equally good.

    Attributes:
        method: ``McNemar`` or ``sign flips``.
        up, down: the cases in favour of the second condition and of the first; None if a case has no winner.
    """

    method: str
    p: float
    up: int | None = None
    down: int | None = None


def paired_test(
    differences: Iterable[float] | NDArray[Any], *, draws: int = 9_999, of_amounts: bool = False
) -> PairedTest:
    """Test that paired differences have mean 0.

    McNemar's test is used if every case is won, lost or tied as a whole, else the permutation test that flips signs.

    Args:
        differences: one per case, second condition less first, all trials of a case in one; at least one.
        draws: of the permutation test.
        of_amounts: whether they are amounts such as tokens and times, which do not win or lose a case.
    """
    import numpy as np

    values = np.fromiter(differences, np.float64)[None]
    counts = np.ones(values.shape, np.int64)
    (p,) = paired_p_values(values, counts, draws=draws, of_amounts=of_amounts).tolist()
    if of_amounts or not are_whole(values).all():
        return PairedTest("sign flips", p)
    return PairedTest("McNemar", p, int((values == 1).sum()), int((values == -1).sum()))


def paired_verdict(interval: Interval, p: float, margin: float, *, changed: bool = True) -> PairedVerdict:
    """Return the verdict on the second condition; ``too few`` stands for too few cases for a verdict.

    Args:
        interval: of the mean difference, which allows for cases that were not seen and differ by more.
        p: of the test that the mean is 0, adjusted for others that are made together.
        margin: the largest difference that does not matter.
        changed: whether any case differs.
    """
    if not changed:
        return "identical"
    # The permutation test alone finds too much if few cases lose a lot and many gain little.
    if p < ALPHA and not interval.low <= 0 <= interval.high:
        return "better" if interval.low > 0 else "worse"
    # Not the interval of 90 %, as two one-sided tests at 5 % have it: differences of few cases are skewed.
    return "equivalent" if -margin < interval.low and interval.high < margin else "too few"


def mcnemar(first_only: int, second_only: int) -> float:
    """Return the two-sided p-value of McNemar's test that two paired yes-or-no conditions are equally often yes.

    Exact (binomial) up to 1,000 discordant pairs, chi-squared with continuity correction beyond them.
    Source: Q. McNemar, "Note on the Sampling Error of the Difference between Correlated Proportions or
    Percentages", Psychometrika 12 (1947), 153-157; the correction: A. L. Edwards, Psychometrika 13 (1948), 185-187.

    Args:
        first_only: cases that are yes under the first condition only.
        second_only: cases that are yes under the second only.
    """
    discordant = first_only + second_only
    if discordant <= EXACT_UP_TO:
        tail = term = 1
        for k in range(min(first_only, second_only)):
            term = term * (discordant - k) // (k + 1)
            tail += term
        return min(1.0, 2 * tail / (1 << discordant))
    excess = max(0, abs(first_only - second_only) - 1)
    return math.erfc(math.sqrt(excess * excess / discordant / 2))


def sign_flips(moved: NDArray[Any], *, draws: int) -> NDArray[Any]:
    """Return the p-value of each column of differences by flipping their signs, with the same signs for all columns.

    Zeros change nothing, so columns of different lengths may be filled up with them.
    """
    import numpy as np

    cases = len(moved)
    # Sums that differ only by rounding are equal, even if everything cancels out.
    least = np.abs(moved.sum(0)) - TOLERANCE * np.abs(moved).sum(0)
    if 2**cases <= draws:
        patterns = np.arange(2**cases)[:, None] >> np.arange(cases) & 1
        every: NDArray[Any] = (np.abs((patterns * 2 - 1) @ moved) >= least).mean(0)
        return every
    random = np.random.default_rng(0)
    reached = np.zeros(moved.shape[1])
    for start in range(0, draws, BLOCK):
        size = (min(BLOCK, draws - start), cases)
        flipped = (random.integers(0, 2, size=size, dtype=np.int8) * 2 - 1) @ moved
        reached += (np.abs(flipped) >= least).sum(0)
    found: NDArray[Any] = (reached + 1) / (draws + 1)
    return found


def sign_flip_limit(differences: NDArray[Any], large: int = LARGE) -> float | None:
    """Return the two-sided p-value of ``sign_flips`` by the expansion of its distribution; None for too few values.

    The sum of differences with random signs has no skewness. The first correction to the normal distribution is
    therefore for its kurtosis: W. Albers, P. Bickel and W. van Zwet, "Asymptotic Expansions for the Power of
    Distribution Free Tests in the One-Sample Problem", The Annals of Statistics 4 (1976), 108-156. If all differences
    are multiples of one number, sums go in steps of twice that, and half a step is taken off (W. Feller, "An
    Introduction to Probability Theory and Its Applications", volume 2, 2nd edition (1971), XVI.4).

    Args:
        differences: without zeros.
        large: they are too few if their sum has at least the kurtosis of this many equal ones. A few large differences
            among thousands of small ones are too few.
    """
    import numpy as np

    squares = differences * differences
    variance, fourth = float(squares.sum()), float((squares * squares).sum())
    if variance * variance <= large * fourth:
        return None
    excess = abs(math.fsum(differences.tolist())) - _step(np.abs(differences))
    z = max(0.0, excess) / math.sqrt(variance)
    kurtosis = -2 * fourth / (variance * variance)
    tail: float = 0.5 * math.erfc(z / math.sqrt(2)) + NormalDist().pdf(z) * kurtosis / 24 * (z**3 - 3 * z)
    return min(1.0, max(0.0, 2 * tail))


def _step(sizes: NDArray[Any]) -> float:
    """Return the largest common divisor of all sizes, or 0 without one or if it is very small."""
    import numpy as np

    largest = float(sizes.max())
    shares = np.unique(np.round(sizes / largest, DIGITS))
    # As multiples of one share they cannot be more than its multiples up to 1.
    for parts in range(1, MOST_PARTS + 1) if len(shares) <= MOST_PARTS else ():
        multiples = np.rint(shares * parts)
        if multiples.all() and np.abs(shares * parts - multiples).max() < NEAR:
            return largest / parts
    return 0.0


def paired_p_values(
    values: NDArray[Any], counts: NDArray[Any], *, draws: int, of_amounts: bool = False, large: int = LARGE
) -> NDArray[Any]:
    """Return the p-value of ``paired_test`` for many comparisons, given like in ``paired_intervals``.

    If a case has no winner, the permutation test that flips signs is used. It is exact if each difference is as likely
    as its negative, and good for others if there are many cases (it uses the spread of the differences, not their
    shape). Source: R. A. Fisher, "The Design of Experiments" (1935), section 21.

    Args:
        draws: sign patterns drawn, if there are more than that; the least p-value is then 1 / (draws + 1).
        large: ``sign_flip_limit`` replaces draws if more cases than this differ.
    """
    import numpy as np

    found = np.ones(len(values))
    moved = np.where(values != 0, counts, 0)
    whole = are_whole(np.where(moved > 0, values, 0.0)) & (not of_amounts)
    up, down = (np.where(values * sign > 0, moved, 0).sum(1) for sign in (1, -1))
    for row in np.flatnonzero(whole).tolist():
        found[row] = mcnemar(int(down[row]), int(up[row]))
    sizes = np.where(whole, 0, moved.sum(1))
    for row in np.flatnonzero(sizes > large).tolist():
        limit = sign_flip_limit(np.repeat(values[row], moved[row]), large)
        if limit is not None:
            found[row], sizes[row] = limit, 0
    # Fewer than that many cases have few enough patterns of signs for all of them.
    exact = np.unique(sizes[(sizes > 0) & (sizes < math.log2(draws + 1))]).tolist()
    for rows in (*(np.flatnonzero(sizes == size) for size in exact), np.flatnonzero(sizes >= math.log2(draws + 1))):
        if len(rows):
            columns = np.zeros((sizes[rows].max(), len(rows)))
            for column, row in enumerate(rows.tolist()):
                columns[: sizes[row], column] = np.repeat(values[row], moved[row])
            found[rows] = sign_flips(columns, draws=draws)
    return found


def are_whole(values: NDArray[Any]) -> NDArray[Any]:
    """For each comparison, whether its queries are won, lost or tied as a whole."""
    import numpy as np

    found: NDArray[Any] = np.all(np.isin(values, (-1.0, 0.0, 1.0)), axis=1)
    return found


def holm(p_values: Mapping[Test, float]) -> dict[Test, float]:
    """Return p-values adjusted to keep the chance of any false finding among them within the level.

    Source: S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6
    (1979), 65-70.

    Args:
        p_values: test -> its p-value.

    Returns:
        test -> its adjusted p-value, in the order given.
    """
    adjusted: dict[Test, float] = {}
    largest = 0.0
    for number, test in enumerate(sorted(p_values, key=lambda test: p_values[test])):
        largest = max(largest, min(1.0, p_values[test] * (len(p_values) - number)))
        adjusted[test] = largest
    return {test: adjusted[test] for test in p_values}


class EnoughQueries(NamedTuple):
    """About how many queries are enough for a verdict, and what it then is likely to be."""

    queries: int
    shows: Literal["difference", "equivalence"]


class Pilot(NamedTuple):
    """The paired differences of a comparison, which are resampled to plan larger ones.

    Attributes:
        counts: each difference with the number of queries that have it.
        largest: the largest possible difference; None for a score without bounds.
    """

    counts: tuple[tuple[float, int], ...]
    largest: float | None = 1.0

    @classmethod
    def of(
        cls, differences: Sequence[float] | Mapping[float, int] | NDArray[Any], *, largest: float | None = 1.0
    ) -> Pilot:
        """Return the pilot of these differences, one per query, or how often each occurs; at least one."""
        counts = count_values(differences)
        if len(counts) > 2 * STEPS:
            step = max(map(abs, counts)) / STEPS
            rounded: Counter[float] = Counter()
            for value, times in counts.items():
                rounded[round(round(value / step) * step, DIGITS)] += times
            counts = rounded
        return cls(tuple(sorted(counts.items())), largest)

    def verdicts(self, queries: int, margin: float, *, comparisons: int = 1) -> Mapping[PairedVerdict, float]:
        """Return the share of each verdict in comparisons of so many queries, drawn from the pilot with replacement.

        Args:
            margin: the largest difference that does not matter.
            comparisons: how many are made together: p-values are multiplied by it, the first step of Holm's method.
        """
        return _verdicts(self, queries, margin, comparisons)

    def enough(self, margin: float, *, comparisons: int = 1, beyond: int = 0) -> EnoughQueries | None:
        """Return the first number of queries that has a verdict in 80 % of resamples.

        Args:
            beyond: this number and smaller ones are skipped.

        Returns:
            None if no number up to 10,000 does, for example because the mean difference equals the margin.
        """
        sizes = [size for size in SIZES if size > beyond]

        def is_enough(size: int) -> bool:
            return self.verdicts(size, margin, comparisons=comparisons).get("too few", 0.0) <= 1 - POWER

        place = bisect_left(sizes, True, key=is_enough)
        if place == len(sizes):
            return None
        shares = self.verdicts(sizes[place], margin, comparisons=comparisons)
        is_equivalence = shares.get("equivalent", 0.0) > POWER / 2
        return EnoughQueries(sizes[place], "equivalence" if is_equivalence else "difference")


@lru_cache(maxsize=2_048)
def _verdicts(pilot: Pilot, queries: int, margin: float, comparisons: int) -> Mapping[PairedVerdict, float]:
    import numpy as np

    values, counts = np.array(pilot.counts, dtype=np.float64).T
    drawn = np.random.default_rng(0).multinomial(queries, counts / counts.sum(), DRAWS)
    rows = np.tile(values, (DRAWS, 1))
    lows, highs = paired_intervals(rows, drawn, largest=pilot.largest)
    p_values = np.ones(DRAWS)
    tested = (lows > 0) | (highs < 0)  # no verdict of the others depends on the test
    p_values[tested] = comparisons * paired_p_values(rows[tested], drawn[tested], draws=SIGNS, large=DRAWN)
    # A resample without any difference does not show that there is no difference.
    found = Counter(
        paired_verdict(Interval(low, high), p, margin)
        for low, high, p in zip(lows.tolist(), highs.tolist(), p_values.tolist(), strict=True)
    )
    return {verdict: count / DRAWS for verdict, count in found.items()}
