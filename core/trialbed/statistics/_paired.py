"""Tests of two conditions on the same cases."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXACT_BELOW = 25
"""Discordant pairs from which on the chi-squared approximation is good enough."""

BLOCK = 500
"""Sign patterns drawn at a time: bounds memory."""

TOLERANCE = 1e-12


def mcnemar(first_only: int, second_only: int) -> float:
    """The two-sided p-value of McNemar's test that two paired yes-or-no conditions are equally often yes.

    Exact (binomial) below 25 discordant pairs, chi-squared with continuity correction from there on.
    Source: Q. McNemar, "Note on the Sampling Error of the Difference between Correlated Proportions or
    Percentages", Psychometrika 12 (1947), 153-157; the correction: A. L. Edwards, Psychometrika 13 (1948), 185-187.

    Args:
        first_only: cases that are yes under the first condition only.
        second_only: cases that are yes under the second only.
    """
    discordant = first_only + second_only
    if discordant < EXACT_BELOW:
        tail = sum(math.comb(discordant, k) for k in range(min(first_only, second_only) + 1))
        return min(1.0, 2.0 * tail / float(2**discordant))
    excess = max(0, abs(first_only - second_only) - 1)
    return math.erfc(math.sqrt(excess * excess / discordant / 2))


def sign_flip(differences: NDArray[Any], *, draws: int = 9_999, seed: int = 0) -> float:
    """The two-sided p-value of the permutation test that paired differences have mean 0: flips their signs.

    Exact where each difference is as likely as its negative; for others good at many cases (it uses the spread
    of the differences, not their shape). Source: R. A. Fisher, "The Design of Experiments" (1935), section 21.

    Args:
        differences: one per case, all trials of a case in one; at least one.
        draws: sign patterns drawn; the least p-value is 1 / (draws + 1).
    """
    import numpy as np

    moved = differences[differences != 0].astype(np.float64)
    least = abs(float(moved.sum())) * (1 - TOLERANCE)
    random = np.random.default_rng(seed)
    reached = 0
    for start in range(0, draws, BLOCK):
        size = (min(BLOCK, draws - start), len(moved))
        flipped = (random.integers(0, 2, size=size, dtype=np.int8) * 2 - 1) @ moved
        reached += int((np.abs(flipped) >= least).sum())
    return (reached + 1) / (draws + 1)
