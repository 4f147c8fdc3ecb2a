"""Intervals of means over cases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

ALPHA = 0.05
"""Chance of each of the two errors."""

LEVEL = 0.95
"""Of the intervals that are shown."""

LEAST_SHARE = 0.5
"""Share of all cases over which a figure is averaged at least: where fewer apply, the others count as alike."""

Z = NormalDist().inv_cdf(1 - ALPHA)


@dataclass(frozen=True)
class Mean:
    """A mean over cases.

    Attributes:
        n: cases that it is over.
        low, high: its 95 % interval, corrected for skewness.
        least: the one-sided 95 % lower bound; ``most`` the upper one, with an allowance for rare cases not seen.
        negative_most: as ``most``, of the mean with the opposite sign.
        spread: standard deviation over cases.
    """

    value: float
    n: int
    low: float
    high: float
    least: float
    most: float
    negative_least: float
    negative_most: float
    spread: float

    def as_json(self) -> dict[str, Any]:
        """For the document."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


def mean_over_cases(values: Array) -> Mean | None:
    """The mean of the known values; None if there are none.

    Where fewer than half of the cases have a value, the mean is over half of the cases, and the missing ones count as
    0: a subject that few requests concern can neither hold up a verdict nor decide it alone.

    The 95 % interval corrects for skewness (N. Johnson, "Modified t Tests and Confidence Intervals for Asymmetrical
    Populations", Journal of the American Statistical Association 73 (1978), 536-544).
    """
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    n = max(len(known), math.ceil(LEAST_SHARE * len(values)))
    value = float(known.sum()) / n
    zeros = n - len(known)
    variance = (float(((known - value) ** 2).sum()) + zeros * value**2) / max(1, n - 1)
    third = (float(((known - value) ** 3).sum()) - zeros * value**3) / n
    spread = math.sqrt(variance)
    z = NormalDist().inv_cdf((1 + LEVEL) / 2) * (1 + 1.5 / n)
    shift = third / (6 * variance * n) * (1 + 2 * z * z) if variance > 0 else 0.0
    half = z * spread / math.sqrt(n)
    # A correction larger than the interval itself would come from a few cases only.
    shift = max(-half, min(half, shift))
    reach = Z * spread / math.sqrt(n)
    rare = allowance(spread, n)
    return Mean(
        value=value,
        n=n,
        low=value + shift - half,
        high=value + shift + half,
        least=value - reach,
        most=value + rare,
        negative_least=-value - reach,
        negative_most=-value + rare,
        spread=spread,
    )


def allowance(spread: float, n: int) -> float:
    """How far the upper bound of a mean lies above it.

    The bound is the mean at which the one observed would be at the 5 % point, if what was not seen are rare cases that
    differ entirely: (mean - observed)^2 = z^2 (spread^2 + (mean - observed)) / n. Without spread it is z^2 / n, about
    Wilson's bound of a proportion of which nothing was seen.
    """
    half = Z * Z / (2 * n)
    return half + math.sqrt(half * half + Z * Z * spread * spread / n)
