"""The verdicts of many comparisons at once, for simulations: those of ``comparison.paired_findings``, row by row."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from trialbed.statistics import UNSEEN, score_quantile

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

NORMAL = NormalDist()

FEW = 25
"""Differences of equal weight (by the fourth moment) from which on a series replaces the drawing of signs."""

SIGNS = 4_000
"""Patterns of signs drawn where the series is not good enough."""

CELLS = 2_000_000
"""Numbers held at a time: bounds memory."""

HALVINGS = 26

NEAR = 1e-9


def finds_better(
    differences: NDArray[Any], random: Generator, *, alpha: float = 0.05, step: float = 0.0, largest: float = 1.0
) -> NDArray[Any]:
    """In which comparisons the candidate is found to be better.

    Args:
        differences: shape (comparisons, queries).
        alpha: of the two-sided test.
        step: what all differences are multiples of; 0 where they have no step.
        largest: the largest difference of a query.
    """
    import numpy as np

    found: NDArray[Any] = (differences.sum(1) > 0) & _is_significant(differences, alpha, step, random)
    rows = np.flatnonzero(found)
    if len(rows):
        bounds, quantiles = _widths(differences[rows], largest)
        found[rows] = _is_above(differences[rows], 0.0, bounds, quantiles)
    return found


def finds_equivalent(
    differences: NDArray[Any], margin: float, random: Generator, *, step: float = 0.0, largest: float = 1.0
) -> NDArray[Any]:
    """In which comparisons the sides are found to be equivalent; those that never differ are identical instead.

    Args:
        differences, step, largest: as for ``finds_better``.
        margin: the largest difference that does not matter.
    """
    import numpy as np

    found: NDArray[Any] = (np.abs(differences.mean(1)) < margin) & np.any(differences != 0, axis=1)
    rows = np.flatnonzero(found)
    if len(rows):
        own = differences[rows]
        bounds, quantiles = _widths(own, largest)
        is_within = _is_above(own, -margin, bounds, quantiles) & _is_above(-own, -margin, bounds, quantiles)
        is_beside = _is_above(own, 0.0, bounds, quantiles) | _is_above(-own, 0.0, bounds, quantiles)
        found[rows] = is_within & ~(is_beside & _is_significant(own, 0.05, step, random))
    return found


def _is_significant(differences: NDArray[Any], alpha: float, step: float, random: Generator) -> NDArray[Any]:
    """Find where the two-sided test is below alpha: McNemar's and the permutation test are both of flipped signs."""
    import numpy as np

    sums, squares, fourth = np.abs(differences.sum(1)), (differences**2).sum(1), (differences**4).sum(1)
    z = NORMAL.inv_cdf(1 - alpha / 2)
    concentration = fourth / np.maximum(squares**2, 1e-300)
    # E. A. Cornish and R. A. Fisher's series; sums are twice a step apart, and equal ones count as reached.
    least = np.sqrt(squares) * (z - (z**3 - 3 * z) / 12 * concentration) + step
    found: NDArray[Any] = (sums > least + NEAR) & (squares > 0)
    # Below 1.2 standard deviations, no distribution of signed sums has a tail of 5 %.
    hard = np.flatnonzero((squares > 0) & (concentration > 1 / FEW) & (sums > 1.2 * np.sqrt(squares)))
    if len(hard):
        signs = random.integers(0, 2, size=(differences.shape[1], SIGNS)).astype(np.float32) * 2 - 1
        for rows in np.array_split(hard, max(1, len(hard) * SIGNS // CELLS)):
            flipped = np.abs(differences[rows].astype(np.float32) @ signs)
            reached = flipped >= (sums[rows, None] - step) * (1 - 1e-5)
            found[rows] = reached.mean(1) < alpha
    return found


def _widths(differences: NDArray[Any], largest: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """The bound and the number of standard errors of each comparison's interval, as ``paired_interval`` has them."""
    import numpy as np

    sizes = np.abs(differences)
    seen = sizes.max(1)
    share = (sizes >= seen[:, None] - 1e-12).mean(1)
    bounds = np.where(seen > 0, np.minimum(max(1.0, largest), seen * np.maximum(1.0, 2 * share)), 1.0)
    whole = ((sizes < NEAR) | (np.abs(sizes - largest) < NEAR)).all(1)
    queries = differences.shape[1]
    quantiles = np.where(whole, score_quantile([1.0], queries), score_quantile([0.5], queries))
    return np.maximum(bounds, UNSEEN), quantiles


def _is_above(differences: NDArray[Any], value: float, bounds: NDArray[Any], quantiles: NDArray[Any]) -> NDArray[Any]:
    """Find where the interval begins above a value: the likeliest distribution with it as mean is too far."""
    import numpy as np

    def tilted(tilts: NDArray[Any]) -> NDArray[Any]:
        weights = 1 / (1 + tilts[:, None] * differences)
        mean: NDArray[Any] = (weights * differences).sum(1) / weights.sum(1)
        return mean

    steepest = (1 / bounds) * (1 - 1e-12)
    lowest = tilted(steepest)
    low, high = np.zeros(len(differences)), steepest
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_less = tilted(middle) > value
        low, high = np.where(is_less, middle, low), np.where(is_less, high, middle)
    is_reached = lowest < value
    weights = 1 / (1 + np.where(is_reached, (low + high) / 2, steepest)[:, None] * differences)
    weights /= weights.sum(1)[:, None]
    moved = np.where(is_reached, 0.0, (lowest - value) / (lowest + bounds))
    variance = (1 - moved) * (weights * (differences - value) ** 2).sum(1) + moved * (bounds + value) ** 2
    mean = differences.mean(1)
    above: NDArray[Any] = (mean > value) & (
        (mean - value) ** 2 * differences.shape[1] > quantiles**2 * variance + 1e-12
    )
    return above
