"""The power of larger comparisons, by resampling a pilot."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from trialbed.statistics._intervals import Interval
from trialbed.statistics._paired import PairedVerdict, count_values, paired_p_values, paired_verdict
from trialbed.statistics._score_interval import paired_intervals

if TYPE_CHECKING:
    from numpy.typing import NDArray

POWER = 0.8
"""The share of resamples with a verdict from which on a number of tasks is enough."""

SMALL = (6, 8, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 500, 700)
SIZES = (*SMALL, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000)
"""Numbers of tasks among which the first that is enough is looked for; fewer than 6 have no p-value below 0.05."""

RESAMPLES, SIGNS = 200, 999
"""Resamples of a pilot, and sign patterns of the test of each: shares of verdicts are known to 3 points."""

LARGE = 100
"""Tasks that differ beyond which the test of a resample is not drawn: p-values are off by less than 0.002."""

STEPS = 20
"""Steps to the largest difference to which those of a pilot are rounded, if it has more than twice as many."""

DIGITS = 9


class EnoughQueries(NamedTuple):
    """About how many queries are enough for a verdict, and what it then is likely to be."""

    queries: int
    shows: Literal["difference", "equivalence"]


class Pilot(NamedTuple):
    """The paired differences of a comparison, from which those of larger ones are drawn.

    Attributes:
        counts: each difference with the number of queries that have it.
        largest: the largest difference that there can be; None for a score without bounds.
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
            None if none of up to 10,000 does, as where the mean difference is as large as the margin.
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
    drawn = np.random.default_rng(0).multinomial(queries, counts / counts.sum(), RESAMPLES)
    rows = np.tile(values, (RESAMPLES, 1))
    lows, highs = paired_intervals(rows, drawn, largest=pilot.largest)
    p_values = np.ones(RESAMPLES)
    tested = (lows > 0) | (highs < 0)  # no verdict of the others depends on the test
    p_values[tested] = comparisons * paired_p_values(rows[tested], drawn[tested], draws=SIGNS, large=LARGE)
    # A resample without any difference does not show that there is none.
    found = Counter(
        paired_verdict(Interval(low, high), p, margin)
        for low, high, p in zip(lows.tolist(), highs.tolist(), p_values.tolist(), strict=True)
    )
    return {verdict: count / RESAMPLES for verdict, count in found.items()}
