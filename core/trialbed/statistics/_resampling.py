"""The bootstrap over cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trialbed.statistics._intervals import LEVEL, Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 256
"""Resamples at a time: bounds memory."""

Figure = Callable[..., Any]

RESAMPLES = 2_000
"""Drawn where no other number is asked for: enough for an interval of 95 %."""

MOST_OFTEN = 255
"""The most often that a case can count in one resample: it is drawn once on average, so no draw comes near."""


@dataclass(frozen=True)
class Estimate:
    """A figure, its interval, and how many observations stand behind it.

    Attributes:
        value: None where it is undefined (no observation, a ratio without a denominator): missing, never 0.
        interval: None where the value is, or where there is too little data for one.
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
            figure: computes it from one sum per column: numbers or, for the draws, arrays of them; nan where undefined.
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
        found = {}
        for name, figure in figures.items():
            value = self.value(figure, *columns)
            if math.isfinite(value):
                found[name] = Estimate(value, self.interval(_apply(figure, sums), level), stated)
            else:
                found[name] = Estimate(None, None, stated)
        return found

    def value(self, figure: Figure, *columns: NDArray[Any]) -> float:
        """Return the figure itself; nan where undefined."""
        import numpy as np

        return float(_apply(figure, np.array([math.fsum(column) for column in columns])))

    def draws(self, figure: Figure, *columns: NDArray[Any]) -> NDArray[Any]:
        """Return the figure in each resample; nan where undefined."""
        import numpy as np

        return _apply(figure, self.sums(np.stack(columns, axis=1)).T)

    def sums(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of each column in each resample, of shape (resamples, columns).

        Args:
            columns: shape (cases, columns).
        """
        import numpy as np

        values = columns.astype(np.float64)
        return np.concatenate([block.astype(np.float64) @ values for block in self._weights])

    def interval(self, draws: NDArray[Any], level: float = LEVEL) -> Interval | None:
        """Return the percentile interval of draws; None where the figure is undefined in more than one draw of ten."""
        import numpy as np

        defined = draws[np.isfinite(draws)]
        if not len(defined) or len(defined) < 0.9 * len(draws):
            return None
        low, high = np.quantile(defined, ((1 - level) / 2, (1 + level) / 2))
        return Interval(float(low), float(high), level)

    @cached_property
    def _weights(self) -> list[NDArray[Any]]:
        """The counts of each case in each resample, in blocks of shape (BLOCK, cases)."""
        return list(self._blocks())

    def _blocks(self) -> Iterator[NDArray[Any]]:
        import numpy as np

        random = np.random.default_rng(self.seed)
        for start in range(0, self.resamples, BLOCK):
            size = min(BLOCK, self.resamples - start)
            drawn = random.integers(0, self.cases, size=(size, self.cases))
            drawn += np.arange(size)[:, None] * self.cases
            counts = np.bincount(drawn.ravel(), minlength=size * self.cases)
            yield np.minimum(counts, MOST_OFTEN).astype(np.uint8).reshape(size, self.cases)


def _apply(figure: Figure, sums: NDArray[Any]) -> NDArray[Any]:
    """Return the figure of sums; a ratio without a denominator is undefined, not an error."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(figure(*sums), dtype=np.float64)
