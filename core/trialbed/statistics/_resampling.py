"""The bootstrap over cases, and its limit for many cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING, Any

from trialbed.statistics._intervals import LEVEL, Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 256
"""Resamples at a time, to bound memory."""

Figure = Callable[..., Any]

RESAMPLES = 2_000
"""The default number of resamples, enough for an interval of 95 %."""

MOST_OFTEN = 255
"""The most often that a case can count in one resample. It is drawn once on average, and no draw comes near."""


LARGE = 2_000
"""The most cases that are resampled. With more, the limit is nearer to the exact figure than draws are. P-values are
then off by less than 0.0001, while p-values of 9,999 draws have a standard error of 0.002 at 0.05.
"""

MOST_SKEW = 0.1
"""The expansion is good enough if the skewness and excess kurtosis of a mean are at most this. A case that is as large
as thousands of others leaves more.
"""


@dataclass(frozen=True)
class Estimate:
    """A figure, its interval, and how many observations stand behind it.

    Attributes:
        value: None if it is undefined (no observation, a ratio without a denominator), which means missing, never 0.
        interval: None if the value is, or if there is too little data for an interval.
        n: the observations: cases, answers or calls, as the figure says.
    """

    value: float | None
    interval: Interval | None = None
    n: int | None = None

    def as_json(self) -> dict[str, float | int | None]:
        """``value``, ``low``, ``high``, ``n``."""
        low, high = (self.interval.low, self.interval.high) if self.interval else (None, None)
        return {"value": self.value, "low": low, "high": high, "n": self.n}


@dataclass(frozen=True)
class CaseBootstrap:
    """Draws cases with replacement, all trials of a case together.

    The same resamples serve every figure, so figures of one case set are drawn in pairs: the draws of a difference
    are the differences of the draws. Source: B. Efron, "Bootstrap Methods: Another Look at the Jackknife", The Annals
    of Statistics 7 (1979), 1-26; percentile intervals.

    Attributes:
        cases: how many there are.
        resamples: how many sets of cases are drawn.
        seed: the same seed gives the same draws.
    """

    cases: int
    resamples: int = RESAMPLES
    seed: int = 0

    def estimate(self, figure: Figure, *columns: NDArray[Any], n: int | None = None, level: float = LEVEL) -> Estimate:
        """Return a figure of column sums, with its percentile interval.

        Args:
            figure: computes it from one sum per column (numbers or, for the draws, arrays of them); nan if undefined.
            columns: one value per case.
            n: observations to state; default: the cases.
        """
        return self.estimates({"figure": figure}, *columns, n=n, level=level)["figure"]

    def estimates(
        self, figures: Mapping[str, Figure], *columns: NDArray[Any], n: int | None = None, level: float = LEVEL
    ) -> dict[str, Estimate]:
        """Return several figures of the same column sums, each as ``estimate`` gives it."""
        import numpy as np

        stated = self.cases if n is None else n
        sums = self.sums(np.stack(columns, axis=1)).T
        totals = np.array([math.fsum(column) for column in columns])  # once rounded
        found = {}
        for name, figure in figures.items():
            value = float(_apply(figure, totals))
            found[name] = Estimate(None, None, stated)
            if math.isfinite(value):
                found[name] = Estimate(value, _percentile_interval(_apply(figure, sums), level), stated)
        return found

    def sums(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of each column in each resample, of shape (resamples, columns).

        Args:
            columns: shape (cases, columns).
        """
        import numpy as np

        values = columns.astype(np.float64)
        return np.concatenate([block.astype(np.float64) @ values for block in self._weights])

    @cached_property
    def _weights(self) -> list[NDArray[Any]]:
        """How often each resample has each case, in blocks of shape (BLOCK, cases)."""
        import numpy as np

        random, found = np.random.default_rng(self.seed), []
        for start in range(0, self.resamples, BLOCK):
            size = min(BLOCK, self.resamples - start)
            drawn = random.integers(0, self.cases, size=(size, self.cases))
            drawn += np.arange(size)[:, None] * self.cases
            counts = np.bincount(drawn.ravel(), minlength=size * self.cases)
            found.append(np.minimum(counts, MOST_OFTEN).astype(np.uint8).reshape(size, self.cases))
        return found


def _percentile_interval(draws: NDArray[Any], level: float) -> Interval | None:
    """Return the percentile interval of draws, or None if the figure is undefined in more than one draw of ten."""
    import numpy as np

    defined = draws[np.isfinite(draws)]
    if not len(defined) or len(defined) < 0.9 * len(draws):
        return None
    low, high = np.quantile(defined, ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(low), float(high), level)


def _apply(figure: Figure, sums: NDArray[Any]) -> NDArray[Any]:
    """Return the figure of sums; a ratio without a denominator is undefined, not an error."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(figure(*sums), dtype=np.float64)


def mean_estimate(values: NDArray[Any]) -> Estimate:
    """Return a mean with its percentile interval of the bootstrap.

    Up to 2,000 cases are resampled. With more, the ends are quantiles of the distribution of the draws by the expansion
    of E. Cornish and R. Fisher, "Moments and Cumulants in the Specification of Distributions", Revue de l'Institut
    International de Statistique 5 (1938), 307-320; P. Hall, "The Bootstrap and Edgeworth Expansion" (1992), chapter 3,
    shows that this equals the bootstrap's. If a few cases are so large that the mean is still skewed, cases are
    resampled after all.

    Args:
        values: one per case; at least one. Resamples depend on their order.
    """
    import numpy as np

    # Rounded once, to make the mean of equal values their value.
    mean = fmean(values)
    ends = _mean_limit(values, mean) if len(values) > LARGE else None
    if ends is not None:
        return Estimate(mean, ends, len(values))
    bootstrap = CaseBootstrap(len(values))
    return bootstrap.estimate(lambda total, count: total / count, values, np.ones_like(values))


def _mean_limit(values: NDArray[Any], mean: float) -> Interval | None:
    """Return the interval by the expansion, or None if the mean is too skewed for it."""
    import numpy as np

    # In one order, to round sums in the same way for every source of values.
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
