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
"""Chance of each of the two errors."""

LEVEL = 1 - 2 * ALPHA
"""Level of the intervals that are shown: each end is a one-sided bound at 95 %, of the kind that decides."""

LEAST_SHARE = 0.5
"""Share of all cases over which a figure is averaged at least: where fewer apply, the others count as alike."""

FEWEST = 30
"""Cases below which no verdict is given."""

POWER = 0.95
"""The chance with which the cases that a gate needs are enough."""

MOST = 10_000_000
"""Cases beyond which a number is of no use."""

Z = NormalDist().inv_cdf(1 - ALPHA)
WIDTH = NormalDist().inv_cdf((1 + LEVEL) / 2)


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
        reach: how far its one-sided 95 % lower bound lies below it.
        rare: how far the upper one lies above it, with an allowance for rare cases not seen.
        spread: standard deviation over the cases that are counted.
    """

    value: float
    n: int
    low: float
    high: float
    weighed: float
    counted: int
    reach: float
    rare: float
    spread: float

    def is_beyond(self, margin: float, *, directed: bool) -> bool:
        """Return whether it is shown to lie beyond a margin, as the interval says too; only above if ``directed``."""
        least = self.low if directed or self.value > 0 else -self.high
        return (self.weighed if directed else abs(self.weighed)) - self.reach > margin and least > margin

    def is_within(self, margin: float, *, directed: bool) -> bool:
        """Return whether it is shown to lie within a margin; only below it if ``directed``."""
        return self.at_most(directed=directed) < margin

    def at_most(self, *, directed: bool) -> float:
        """Return the upper bound that decides, of the mean; of its size unless ``directed``."""
        bound = (self.weighed if directed else abs(self.weighed)) + self.rare
        if self.counted > self.n:
            return bound
        return max(bound, self.high if directed else max(self.high, -self.low))

    def seems_beyond(self, margin: float, *, directed: bool) -> bool:
        """Return whether the mean over the cases that have a value lies beyond a margin, shown or not."""
        return (self.value if directed else abs(self.value)) > margin

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
    if not len(known):
        return None
    furthest = max(1.0, float(np.abs(known).max()))
    counted = max(len(known), math.ceil(LEAST_SHARE * len(values)) if over_all else 0)
    value, weighed = float(known.mean()), float(known.sum()) / counted
    low, high, _ = _interval(known - value, 0.0, 0)
    if low == high:
        high = _of_rare(0.0, len(known), WIDTH)
        low = -high
    spread = _interval(known - weighed, -weighed, counted - len(known))[2]
    return Mean(
        value=value,
        n=len(known),
        low=max(-furthest, value + low),
        high=min(furthest, value + high),
        weighed=weighed,
        counted=counted,
        reach=Z * spread / math.sqrt(counted),
        rare=allowance(spread, counted),
        spread=spread,
    )


def _interval(apart: Array, absent: float, zeros: int) -> tuple[float, float, float]:
    """Return the distances of the ends of the interval from the mean, and the standard deviation.

    Student's interval with half of the degrees of freedom that the kurtosis leaves: few cases may carry the variance,
    and a sample shows less of the kurtosis than there is. It is
    moved by the skewness, as far as that is known: N. Johnson, "Modified t Tests and Confidence Intervals for
    Asymmetrical Populations", Journal of the American Statistical Association 73 (1978), 536-544.

    Args:
        apart: deviations of the known values from the mean.
        absent: that of each of the other cases, of which there are ``zeros``.
    """
    n = len(apart) + zeros

    def moment(power: int) -> float:
        return (float((apart**power).sum()) + zeros * absent**power) / n

    second = moment(2)
    if second <= 0 or n < 2:
        return 0.0, 0.0, 0.0
    variance = second * n / (n - 1)
    freedom = min(n - 1.0, n / max(moment(4) / second**2 - 1, 1 / n))
    half = _student(max(freedom, 3.0)) * math.sqrt(variance / n)
    third, noise = moment(3), max(moment(6) - moment(3) ** 2, 0.0) / n
    known = max(0.0, 1 - 2 * noise / third**2) if third else 0.0
    shift = known * third / (6 * variance * n) * (1 + 2 * WIDTH * WIDTH)
    shift = max(-half, min(half, shift))
    return shift - half, shift + half, math.sqrt(variance)


def _student(freedom: float) -> float:
    """Return the quantile of Student's distribution for the interval, by its expansion around the normal one."""
    z = WIDTH
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def allowance(spread: float, n: int) -> float:
    """Return the distance of the upper bound of a mean from it.

    The bound is the mean at which the one observed would be at the 5 % point, if rare cases that differ entirely were
    not seen: (mean - observed)^2 = z^2 (spread^2 + (mean - observed)) / n. Without spread it is z^2 / n, about
    Wilson's bound of a proportion of which nothing was seen.
    """
    return _of_rare(spread, n, Z)


def _of_rare(spread: float, n: int, z: float) -> float:
    half = z * z / (2 * n)
    return half + math.sqrt(half * half + z * z * spread * spread / n)


def fewest_cases(margin: float) -> int:
    """Return the number of cases below which no gate can be shown to be within its margin, even if none differs."""
    return math.ceil(Z * Z / margin / LEAST_SHARE) + 1


def cases_for_equivalence(spread: float, margin: float, truth: float = 0.0, power: float = POWER) -> int:
    """Return the number of cases with which the upper bound lies below the margin with a chance of ``power``.

    Args:
        spread: standard deviation of a figure over cases.
        truth: its mean.
    """
    quantile = NormalDist().inv_cdf(power)

    def is_enough(n: int) -> bool:
        return truth + quantile * spread / math.sqrt(n) + allowance(spread, n) < margin

    return bisect_left(range(MOST), True, lo=1, key=is_enough)


def cases_for_difference(spread: float, margin: float, truth: float, power: float = POWER) -> int:
    """Return the number of cases with which the lower bound lies above the margin with a chance of ``power``."""
    if truth <= margin:
        return MOST
    return math.ceil(((Z + NormalDist().inv_cdf(power)) * spread / (truth - margin)) ** 2)
