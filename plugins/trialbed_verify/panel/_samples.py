"""The answers of both sides as arrays, case by case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

BLOCK = 2048
"""Cases whose distances are in memory at a time."""

ALONE = 2
"""Marks a case of which both sides have one trial; 1 marks one in which a side's own spread is not known."""

Trials = tuple[Sequence[Any], Sequence[Any]]
"""The baseline's and the vendor's trials of a case."""


@dataclass(frozen=True)
class Block:
    """Cases with equal numbers of trials.

    Attributes:
        cases: their numbers.
        baseline, vendor: trials per case.
        values: of shape (cases, baseline + vendor, places), the baseline's first.
    """

    cases: Array
    baseline: int
    vendor: int
    values: Array


@dataclass(frozen=True)
class Samples:
    """All trials, ordered by case, and in it the baseline's before the vendor's.

    Attributes:
        trials: one object per trial.
        case: its case.
        vendor: whether it is the vendor's.
        counts: per case, the trials of the baseline and of the vendor.
    """

    trials: list[Any]
    case: Array
    vendor: Array
    counts: Array

    @classmethod
    def of(cls, sides: Sequence[Trials]) -> Samples:
        """Return the trials of each case."""
        trials = [trial for pair in sides for side in pair for trial in side]
        counts = np.array([(len(ours), len(theirs)) for ours, theirs in sides], dtype=np.int64).reshape(-1, 2)
        case = np.repeat(np.arange(len(sides)), counts.sum(1))
        vendor = np.repeat(np.tile([False, True], len(sides)), counts.ravel())
        return cls(trials, case, vendor, counts)

    @property
    def cases(self) -> int:
        """Return the number of cases."""
        return len(self.counts)

    def single(self, scale: str) -> Array:
        """Return per case 0 if its trials show the spread that a gate of this scale needs, 1 if not, or ``ALONE``."""
        ours, theirs = self.counts.T
        if scale == "fault":
            return np.zeros(self.cases, dtype=np.int8)
        fewer = ours if scale == "novelty" else np.minimum(ours, theirs)
        return np.where(ours + theirs == ALONE, ALONE, fewer == 1).astype(np.int8)

    @property
    def trials_per_case(self) -> tuple[float, float]:
        """Return the mean numbers of trials per case, of the baseline and of the vendor."""
        vendor = int(self.vendor.sum())
        cases = max(1, self.cases)
        return (len(self.trials) - vendor) / cases, vendor / cases

    def blocks(self, value: Callable[[Any], Any], dtype: str) -> Iterator[Block]:
        """Yield the values of a gate, for cases in which both sides have one and one side has two.

        Args:
            value: None where the gate does not apply.
            dtype: of the array; bytes are read as one.
        """
        found = [value(trial) for trial in self.trials]
        kept = np.flatnonzero(np.array([one is not None for one in found], dtype=bool))
        if not len(kept):
            return
        values = _array([found[place] for place in kept.tolist()], dtype)
        yield from blocks(values, self.case[kept], self.vendor[kept], self.cases)


def blocks(values: Array, case: Array, vendor: Array, cases: int) -> Iterator[Block]:
    """Yield cases with equal numbers of trials, a few at a time.

    Args:
        values: of shape (trials, places), ordered by case, and in it the baseline's before the vendor's.
    """
    ours = np.bincount(case[~vendor], minlength=cases)
    theirs = np.bincount(case[vendor], minlength=cases)
    starts = np.concatenate(([0], np.cumsum(ours + theirs)[:-1]))
    usable = (ours > 0) & (theirs > 0)
    for m, n in sorted(set(zip(ours[usable].tolist(), theirs[usable].tolist(), strict=True))):
        chosen = np.flatnonzero((ours == m) & (theirs == n))
        for begin in range(0, len(chosen), BLOCK):
            own = chosen[begin : begin + BLOCK]
            yield Block(own, m, n, values[starts[own][:, None] + np.arange(m + n)])


def _array(found: list[Any], dtype: str) -> Array:
    if isinstance(found[0], bytes):
        return np.frombuffer(b"".join(found), dtype=dtype).reshape(len(found), -1)
    return np.array(found, dtype=dtype).reshape(len(found), -1)
