"""Equivalence: whether a difference is small, large, or undetermined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from trialbed.statistics import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALPHA = 0.05

Finding = Literal["equivalent", "different", "inconclusive"]


@dataclass(frozen=True)
class Equivalence:
    """The finding on a difference.

    Attributes:
        finding: ``equivalent``: it lies within the margin; ``different``: it lies beyond it; ``inconclusive``:
            there is too little data for either. Each of the first two is false with a chance of
            about 5 % at most: just that at the margin itself, and less the farther the truth lies from it.
        difference: the estimate.
        interval: its 90 % interval, the one that two one-sided tests at 5 % correspond to.
        p_equivalent: the larger p-value of the two one-sided tests that it lies within the margin.
        p_different: the p-value of the test that it lies beyond the margin, on the side where it is.
    """

    finding: Finding
    difference: float
    interval: Interval
    margin: float
    p_equivalent: float
    p_different: float


def judge_equivalence(difference: float, draws: NDArray[Any], margin: float) -> Equivalence:
    """Two one-sided tests (TOST) of a difference against a margin that was set beforehand.

    Equivalent if the 90 % interval lies within ``-margin .. margin``, different if it lies outside.
    Source: D. J. Schuirmann, "A Comparison of the Two One-Sided Tests Procedure and the Power Approach for Assessing
    the Equivalence of Average Bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15 (1987), 657-680.

    Args:
        draws: the difference in each bootstrap resample; where it is undefined, nan.
        margin: greater than 0.
    """
    import numpy as np

    drawn = draws[np.isfinite(draws)]
    low, high = np.quantile(drawn, (ALPHA, 1 - ALPHA))
    below, above = _share(drawn <= -margin), _share(drawn >= margin)
    within_low, within_high = _share(drawn > -margin), _share(drawn < margin)
    p_equivalent, p_different = max(below, above), within_low if difference < 0 else within_high
    finding: Finding = "inconclusive"
    if p_equivalent < ALPHA:
        finding = "equivalent"
    elif p_different < ALPHA:
        finding = "different"
    interval = Interval(float(low), float(high), 1 - 2 * ALPHA)
    return Equivalence(finding, difference, interval, margin, p_equivalent, p_different)


def _share(chosen: NDArray[Any]) -> float:
    """Return the share of draws, as a p-value: never 0."""
    return (int(chosen.sum()) + 1) / (len(chosen) + 1)
