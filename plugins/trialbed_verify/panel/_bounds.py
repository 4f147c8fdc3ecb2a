"""Intervals of means over cases."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

ALPHA = 0.05
"""Chance of each of the two errors, and beyond each end of an interval: both are one-sided bounds at 95 %."""

LEAST_SHARE = 0.5
"""Share of all cases over which a figure is averaged at least: where fewer apply, the others count as alike."""

FEWEST = 30
"""Cases below which no verdict is given."""

MOST = 10_000_000
"""Cases beyond which a number is of no use."""

NOISE = 1e-24
"""Variance that comes from rounding alone."""

Z = NormalDist().inv_cdf(1 - ALPHA)


@dataclass(frozen=True)
class Mean:
    """A mean over cases.

    Attributes:
        value: over the cases that have one.
        n: those cases.
        low, high: its 90 % interval, corrected for skewness; where no case differs from another, with the allowance
            for rare cases not seen.
        weighed: the mean that decides, in which missing cases can count as 0.
        counted: cases that it is over.
        spread: standard deviation over the cases that are counted.
    """

    value: float
    n: int
    low: float
    high: float
    weighed: float
    counted: int
    spread: float

    def is_beyond(self, margin: float, *, directed: bool) -> bool:
        """Return whether it is shown to lie beyond a margin, as the interval says too; only above if ``directed``."""
        least = self.low if directed or self.value > 0 else -self.high
        decides = self.weighed if directed else abs(self.weighed)
        return min(least, decides - Z * self.spread / math.sqrt(self.counted)) > margin

    def at_most(self, *, directed: bool) -> float:
        """Return the upper bound that decides, of the mean; of its size unless ``directed``."""
        bound = (self.weighed if directed else abs(self.weighed)) + allowance(self.spread, self.counted)
        if self.counted > self.n:
            return bound
        return max(bound, self.high if directed else max(self.high, -self.low))

    def may_be_chance(self, margin: float, *, directed: bool) -> bool:
        """Return whether a larger comparison may show no difference at all: it is small, or within two errors of 0."""
        value = self.weighed if directed else abs(self.weighed)
        return value < max(margin / 2, 2 * self.spread / math.sqrt(self.counted))

    def cases_needed(self, margin: float, *, directed: bool) -> int:
        """Return the cases that would show it to lie within a margin or beyond it, with a chance of 95 %."""
        value, spread = self.weighed if directed else abs(self.weighed), self.spread
        if self.may_be_chance(margin, directed=directed):
            value = 0.0
        elif value > margin:
            return math.ceil((2 * Z * spread / (value - margin)) ** 2)

        def is_enough(n: int) -> bool:
            return min(value, margin * 0.9) + Z * spread / math.sqrt(n) + allowance(spread, n) < margin

        return bisect_left(range(MOST), True, lo=1, key=is_enough)

    def as_json(self, *, directed: bool = False) -> dict[str, Any]:
        """Return its part of a document."""
        at_most = self.at_most(directed=directed)
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n, "at_most": at_most}


def mean_over_cases(values: Array, *, over_all: bool = True) -> Mean | None:
    """Return the mean of the known values, which lie between -1 and 1 but for costs; None if there are none.

    Where fewer than half of the cases have a value, the mean that decides is over half of the cases, and the missing
    ones count as 0: a subject that few requests concern can neither hold up a verdict nor decide it alone.

    Args:
        over_all: this holds; otherwise the mean that decides is over the cases that have a value.
    """
    known = values[np.isfinite(values)]
    n = len(known)
    if not n:
        return None
    furthest = max(1.0, float(np.abs(known).max()))
    counted = max(n, math.ceil(LEAST_SHARE * len(values)) if over_all else 0)
    value, weighed = float(known.mean()), float(known.sum()) / counted
    low, high = _interval(known - value)
    squares = float(((known - weighed) ** 2).sum()) + (counted - n) * weighed**2
    spread = math.sqrt(squares / (counted - 1)) if squares > NOISE * counted else 0.0
    return Mean(value, n, max(-furthest, value + low), min(furthest, value + high), weighed, counted, spread)


def _interval(apart: Array) -> tuple[float, float]:
    """Return the distances of the ends of the interval from the mean.

    Student's interval with half of the degrees of freedom that the kurtosis leaves: few cases may carry the variance,
    and a sample shows less of the kurtosis than there is. It is
    moved by the skewness, as far as that is known: N. Johnson, "Modified t Tests and Confidence Intervals for
    Asymmetrical Populations", Journal of the American Statistical Association 73 (1978), 536-544.

    Args:
        apart: deviations of the values from the mean.
    """
    n = len(apart)
    second, third, fourth, sixth = (float((apart**power).mean()) for power in (2, 3, 4, 6))
    if second <= NOISE:
        return -allowance(0.0, n), allowance(0.0, n)
    variance = second * n / (n - 1)
    freedom = max(3.0, min(n - 1.0, n / max(fourth / second**2 - 1, 1 / n)))
    # Student's quantile by its expansion around the normal one.
    student = Z + (Z**3 + Z) / (4 * freedom) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)
    half = student * math.sqrt(variance / n)
    noise = max(sixth - third**2, 0.0) / n
    known = max(0.0, 1 - 2 * noise / third**2) if third else 0.0
    shift = known * third / (6 * variance * n) * (1 + 2 * Z * Z)
    shift = max(-half, min(half, shift))
    return shift - half, shift + half


def allowance(spread: float, n: int) -> float:
    """Return the distance of the upper bound of a mean from it.

    The bound is the mean at which the one observed would be at the 5 % point, if rare cases that differ entirely were
    not seen: (mean - observed)^2 = z^2 (spread^2 + (mean - observed)) / n. Without spread it is z^2 / n, about
    Wilson's bound of a proportion of which nothing was seen.
    """
    half = Z * Z / (2 * n)
    return half + math.sqrt(half * half + Z * Z * spread * spread / n)


def fewest_cases(margin: float) -> int:
    """Return the number of cases below which no gate can be shown to be within its margin, even if none differs."""
    return math.ceil(Z * Z / margin / LEAST_SHARE) + 1
