"""The limits of resampling where there are many cases: what more and more draws would come to."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING, Any

from trialbed.statistics._intervals import LEVEL, Interval
from trialbed.statistics._resampling import RESAMPLES, CaseBootstrap, Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGE = 2_000
"""Cases up to which all is drawn. With more, the limit is nearer to the exact figure than draws are: p-values are
off by less than 0.0001 there, where those of 9,999 draws have a standard error of 0.002 at 0.05."""

MOST_SKEW = 0.1
"""The largest skewness and excess kurtosis of a mean for which an expansion is good enough: a case that is as large as
thousands of others leaves more."""

MOST_PARTS = 1_000
"""Parts of the largest difference up to which steps are looked for: finer ones change no p-value by 0.0001."""

DIGITS = 9
"""Decimals of shares of the largest difference, which are thirds, or sevenths, but for rounding."""

NEAR = 1e-6
"""How near to a whole number a multiple of such a share is for one."""


def sign_flip_limit(differences: NDArray[Any], large: int = LARGE) -> float | None:
    """Return the two-sided p-value of ``sign_flips`` by the expansion of its distribution; None for too few.

    The sum of differences with random signs has no skewness, so that the first correction to the normal distribution is
    that for its kurtosis: W. Albers, P. Bickel and W. van Zwet, "Asymptotic Expansions for the Power of Distribution
    Free Tests in the One-Sample Problem", The Annals of Statistics 4 (1976), 108-156. Where all differences are
    multiples of one number, sums go in steps of twice that, and half a step is taken off (W. Feller, "An Introduction
    to Probability Theory and Its Applications", volume 2, 2nd edition (1971), XVI.4).

    Args:
        differences: none of them 0.
        large: they are too few where their sum has the kurtosis of this many equal ones, or more: a few large ones
            among thousands of small ones are few.
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
    """Return the largest number of which all sizes are multiples; 0 where there is none, or a very small one."""
    import numpy as np

    largest = float(sizes.max())
    shares = np.unique(np.round(sizes / largest, DIGITS))
    # As multiples of one share they cannot be more than its multiples up to 1.
    for parts in range(1, MOST_PARTS + 1) if len(shares) <= MOST_PARTS else ():
        multiples = np.rint(shares * parts)
        if multiples.all() and np.abs(shares * parts - multiples).max() < NEAR:
            return largest / parts
    return 0.0


def mean_estimate(
    values: NDArray[Any],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    order: Callable[[], NDArray[Any]] | None = None,
) -> Estimate:
    """Return a mean with its percentile interval of the bootstrap.

    Cases are drawn where there are 2,000 or fewer. With more, the ends are the quantiles that the distribution of the
    draws has by the expansion of E. Cornish and R. Fisher, "Moments and Cumulants in the Specification of
    Distributions", Revue de l'Institut International de Statistique 5 (1938), 307-320; P. Hall, "The Bootstrap and
    Edgeworth Expansion" (1992), chapter 3, shows it to be that of the bootstrap. Where few cases are so large that the
    mean is still skewed, all is drawn.

    Args:
        values: one per case; at least one.
        order: gives the places of the values in the order in which they are drawn, where that is another.
    """
    import numpy as np

    # Rounded once, so that the mean of equal values is their value.
    mean = fmean(values)
    ends = _mean_limit(values, mean) if len(values) > LARGE else None
    if ends is not None:
        return Estimate(mean, ends, len(values))
    values = values if order is None else values[order()]
    bootstrap = CaseBootstrap(len(values), resamples, seed)
    return bootstrap.estimate(lambda total, count: total / count, values, np.ones_like(values))


def _mean_limit(values: NDArray[Any], mean: float) -> Interval | None:
    """Return the interval by the expansion; None where the mean is too skewed for it."""
    import numpy as np

    # In one order, so that sums are rounded alike wherever the values come from.
    n, apart = len(values), np.sort(values) - mean
    second, third, fourth = (float((apart**power).mean()) for power in (2, 3, 4))
    if second == 0:
        return Interval(mean, mean)
    skew, excess = third / second**1.5 / math.sqrt(n), (fourth / second**2 - 3) / n
    if abs(skew) > MOST_SKEW or abs(excess) > MOST_SKEW:
        return None
    error = math.sqrt(second / n)
    low, high = (
        mean + error * (z + (z**2 - 1) * skew / 6 + (z**3 - 3 * z) * excess / 24 - (2 * z**3 - 5 * z) * skew**2 / 36)
        for z in (NormalDist().inv_cdf((1 - LEVEL) / 2), NormalDist().inv_cdf((1 + LEVEL) / 2))
    )
    return Interval(low, high)
