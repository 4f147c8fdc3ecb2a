"""Unbiased distances between the distributions of two sides' trials, case by case."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialbed_verify.panel._logprobs import divergence
from trialbed_verify.panel._samples import Block

Array = NDArray[Any]

MOST_SPLITS = 512
"""Ways to deal a case's trials to the sides: all of them if there are no more than this, else this many at random."""

TOGETHER = 256
"""Cases whose deals are added up in one step."""

DTYPES = {"category": "i8", "novelty": "i8", "signature": "u2", "number": "f8", "probabilities": "f2", "fault": "f8"}


@dataclass
class Distances:
    """A gate's figures over cases.

    Attributes:
        excess: per case, how much farther the sides are from each other than one is from itself; for faults, the
            vendor's share less the baseline's.
        distance: per case, the distance between the two distributions; nan where a side has one trial.
        own, cross: the mean distance of two trials of the baseline (of the vendor, where the baseline has one), and of
            one of each side.
        dealt_excess, dealt_distance: the sums of the first two with trials dealt to the sides at random.
        single: per case, as ``Samples.single`` has it; -1 where the gate does not apply to both sides.
        traits: per side, case and trait, whether the only trial has it; None for a gate that is not judged by traits.
        differing: per case, whether the only trials differ in any of these.
    """

    excess: Array
    distance: Array
    own: Array
    cross: Array
    dealt_excess: Array
    dealt_distance: Array
    single: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int8))
    traits: Array | None = None
    differing: Array = field(default_factory=lambda: np.zeros(0))

    def is_single(self, least: int = 1) -> bool:
        """Return whether half of the cases or more do not show the spread; for ``ALONE``, have one trial per side."""
        known = self.single[self.single >= 0]
        return bool(2 * (known >= least).sum() >= len(known) > 0)

    def with_more_deals(self, other: Distances) -> Distances:
        """Return the same with the deals of both."""
        return replace(
            self,
            dealt_excess=np.concatenate((self.dealt_excess, other.dealt_excess)),
            dealt_distance=np.concatenate((self.dealt_distance, other.dealt_distance)),
        )

    def at(self, places: Array) -> Distances:
        """Return the figures of these cases, with the deals that as many cases would have."""
        scale = math.sqrt(len(places) / len(self.excess))
        names = ("excess", "distance", "own", "cross", "single", *(("differing",) if len(self.differing) else ()))
        traits = None if self.traits is None else self.traits[:, places]
        dealt = {name: getattr(self, name) * scale for name in ("dealt_excess", "dealt_distance")}
        return replace(self, **{name: getattr(self, name)[places] for name in names}, **dealt, traits=traits)


def distances(
    blocks: Iterable[Block], scale: str, cases: int, deals: int, seed: int, single: Array | None = None
) -> Distances:
    """Compute the figures of a gate.

    For trials x of the baseline and y of the vendor, with a distance d between trials, and means over all pairs of
    different trials:

        excess    mean d(x, y) - mean d(x, x')
        distance  mean d(x, y) - (mean d(x, x') + mean d(y, y')) / 2

    Both are 0 in expectation if the sides' trials have one distribution. The second is the energy distance as a
    U-statistic. Source: G. Szekely and M. Rizzo, "Energy Statistics: A Class of Statistics Based on Distances",
    Journal of Statistical Planning and Inference 143 (2013), 1249-1272.

    Args:
        deals: number of times that trials are dealt to the sides at random, within each case.
        single: per case, as ``Samples.single`` has it.
    """
    excess, distance, own, cross = (np.full(cases, np.nan) for _ in range(4))
    found = Distances(excess, distance, own, cross, np.zeros(deals), np.zeros(deals))
    found.single = np.full(cases, -1, dtype=np.int8)
    random = np.random.default_rng(seed)
    for block in blocks:
        found.single[block.cases] = 0 if single is None else single[block.cases]
        if scale == "fault":
            _add_faults(found, block, deals, random)
        elif scale == "novelty" and block.baseline > 1:
            _add_novelty(found, block, deals, random)
        elif block.baseline + block.vendor > 2:
            _add(found, block, scale, deals, random)
    return found


def _add(found: Distances, block: Block, scale: str, deals: int, random: np.random.Generator) -> None:
    m, n = block.baseline, block.vendor
    pairs = _pairwise(block.values, scale)
    splits = _splits(m, n)
    weights = _weights(m, n)
    cross, ours, theirs = (pairs @ weight[:, 0] for weight in weights)
    spread = ours if m > 1 else theirs
    found.cross[block.cases], found.own[block.cases] = cross, spread
    found.excess[block.cases] = cross - spread
    active = pairs[pairs.any(axis=1)]
    dealt = random.integers(0, len(splits), size=(len(active), deals), dtype=np.uint16)
    crossed = active @ weights[0]
    found.dealt_excess += _dealt(crossed - active @ (weights[1] if m > 1 else weights[2]), dealt)
    if m > 1 and n > 1 and scale != "novelty":
        found.distance[block.cases] = cross - (ours + theirs) / 2
        found.dealt_distance += _dealt(crossed - active @ ((weights[1] + weights[2]) / 2), dealt)


def _add_faults(found: Distances, block: Block, deals: int, random: np.random.Generator) -> None:
    m, n = block.baseline, block.vendor
    values = block.values[:, :, 0]
    found.own[block.cases] = values[:, :m].mean(1)
    found.cross[block.cases] = values[:, m:].mean(1)
    found.excess[block.cases] = found.cross[block.cases] - found.own[block.cases]
    moved = values.max(1) > values.min(1)
    splits = _splits(m, n)
    weight = np.where(splits, -1.0 / m, 1.0 / n).T
    dealt = random.integers(0, len(splits), size=(int(moved.sum()), deals), dtype=np.uint16)
    found.dealt_excess += _dealt(values[moved] @ weight, dealt)


def _add_novelty(found: Distances, block: Block, deals: int, random: np.random.Generator) -> None:
    """Add the shares of answers that the baseline's trials do not have.

    A trial of either side is compared with all trials of the baseline but one: itself, or any, on average. So both
    shares are equal in expectation if the sides' trials have one distribution.
    """
    m, n = block.baseline, block.vendor
    values = block.values[:, :, 0]
    found.own[block.cases] = found.cross[block.cases] = 0.0
    moved = (values != values[:, :1]).any(axis=1)
    splits = _splits(m, n)
    crossed = np.zeros((int(moved.sum()), len(splits)))
    own = np.zeros_like(crossed)
    for begin in range(0, len(crossed), TOGETHER):
        some = values[moved][begin : begin + TOGETHER]
        alike = (some[:, :, None] == some[:, None, :]).astype(np.float32) @ splits.T.astype(np.float32)
        unseen = np.where(alike == 0, 1.0, np.where(alike == 1, 1.0 / m, 0.0))
        crossed[begin : begin + TOGETHER] = (unseen * ~splits.T).sum(axis=1) / n
        own[begin : begin + TOGETHER] = ((alike == 1) & splits.T).sum(axis=1) / m
    found.own[block.cases[moved]], found.cross[block.cases[moved]] = own[:, 0], crossed[:, 0]
    found.excess[block.cases] = found.cross[block.cases] - found.own[block.cases]
    dealt = random.integers(0, len(splits), size=(len(crossed), deals), dtype=np.uint16)
    found.dealt_excess += _dealt(crossed - own, dealt)


def _dealt(values: Array, dealt: Array) -> Array:
    """Return the sum over cases of the values that were dealt."""
    total = np.zeros(dealt.shape[1])
    for begin in range(0, len(values), TOGETHER):
        own, places = values[begin : begin + TOGETHER], dealt[begin : begin + TOGETHER]
        total += np.take_along_axis(own, places, axis=1).sum(axis=0)
    return total


def _pairwise(values: Array, scale: str) -> Array:
    """Return the distances of all pairs of trials, of shape (cases, pairs)."""
    pairs = combinations(range(values.shape[1]), 2)
    distance = BETWEEN.get(scale, _unequal_share)
    return np.stack([distance(values[:, one], values[:, other]) for one, other in pairs], axis=1).astype(np.float64)


def _unequal_share(one: Array, other: Array) -> Any:
    return (one != other).mean(axis=-1)


def _at_most_one(one: Array, other: Array) -> Any:
    return np.minimum(1.0, np.abs(one - other).max(axis=-1))


BETWEEN: Mapping[str, Callable[[Array, Array], Any]] = {"number": _at_most_one, "probabilities": divergence}
"""Scale -> the distance of two values; for others it is the share of places in which they differ."""


@lru_cache(maxsize=256)
def _splits(m: int, n: int) -> Array:
    """Return the trials that go to the baseline in each way of dealing; the first is the one observed."""
    if comb(m + n, m) <= MOST_SPLITS:
        return np.array([np.isin(np.arange(m + n), chosen) for chosen in combinations(range(m + n), m)])
    random = np.random.default_rng(m * 1000 + n)
    order = random.random((MOST_SPLITS, m + n)).argsort(axis=1)
    return np.concatenate((np.arange(m + n)[None] < m, order < m))


@lru_cache(maxsize=256)
def _weights(m: int, n: int) -> tuple[Array, Array, Array]:
    """Return the weights of each pair in the means across the sides, within the baseline and within the vendor."""
    splits = _splits(m, n)
    one, other = np.triu_indices(m + n, 1)
    first, second = splits[:, one].T, splits[:, other].T
    return (
        (first != second) / (m * n),
        (first & second) * (2 / (m * (m - 1)) if m > 1 else 0.0),
        (~first & ~second) * (2 / (n * (n - 1)) if n > 1 else 0.0),
    )
