"""Unbiased distances between the distributions of two sides' trials, case by case.

One trial per side does not show how far a side is from itself, so the distance of two answers means nothing. But a
vendor of the same model has a trait that the baseline lacks as often as the other way round: such cases are compared by
the traits of their answers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialbed.statistics import mcnemar
from trialbed_verify.panel._gates import PanelGate
from trialbed_verify.panel._measures import CALL, Measures
from trialbed_verify.panel._trials import Trials

Array = NDArray[Any]

Values = tuple[Array, Array, Array]
"""Values of shape (trials, places), and the case and the side of each trial, True for the vendor's; ordered by case,
and in it the baseline's before the vendor's."""

BLOCK, TOGETHER = 2048, 256
"""Cases whose values are in memory at a time, and those whose deals are added up in one step."""

MOST_SPLITS = 512
"""Ways to deal a case's trials to the sides: all of them if there are no more than this, else this many at random."""

LEAST_PROBABILITY = 1e-4
"""Probability below which alternatives count as equally likely: rounding and ties decide there."""

ALONE = 2
"""Marks a case of which both sides have one trial; 1 marks one in which a side's own spread is not known."""

LEAST = 6
"""Cases that must differ in a trait for it to count: fewer show nothing at 5 %."""


@dataclass(frozen=True)
class Samples:
    """All trials, ordered by case, and in it the baseline's before the vendor's.

    Attributes:
        sides: the trials by case.
        case: the case of each trial.
        vendor: whether it is the vendor's.
        counts: per case, the trials of the baseline and of the vendor.
    """

    sides: Sequence[Trials]
    trials: list[Measures]
    case: Array
    vendor: Array
    counts: Array

    @classmethod
    def of(cls, sides: Sequence[Trials]) -> Samples:
        """Return the trials of each case."""
        counts = np.array([(len(ours), len(theirs)) for ours, theirs in sides], dtype=np.int64).reshape(-1, 2)
        case = np.repeat(np.arange(len(sides)), counts.sum(1))
        vendor = np.repeat(np.tile([False, True], len(sides)), counts.ravel())
        return cls(sides, [trial for pair in sides for side in pair for trial in side], case, vendor, counts)

    def single(self, scale: str) -> Array:
        """Return per case 0 if its trials show the spread that a gate of this scale needs, 1 if not, or ``ALONE``."""
        ours, theirs = self.counts.T
        if scale == "fault":
            return np.zeros(len(ours), dtype=np.int8)
        fewer = ours if scale == "novelty" else np.minimum(ours, theirs)
        return np.where(ours + theirs == ALONE, ALONE, fewer == 1).astype(np.int8)

    def values(self, gate: PanelGate) -> Values:
        """Return the values of the trials that a gate applies to."""
        found = [gate.value(trial) for trial in self.trials]
        kept = np.array([one is not None for one in found], dtype=bool)
        known: Any = [one for one in found if one is not None]
        if known and isinstance(known[0], bytes):
            known = np.frombuffer(b"".join(known), dtype="f2" if gate.scale == "probabilities" else "u2")
        return np.asarray(known).reshape(int(kept.sum()), -1 if len(known) else 1), self.case[kept], self.vendor[kept]


def _blocks(values: Array, case: Array, vendor: Array, cases: int) -> Iterator[tuple[Array, int, Array]]:
    """Yield cases with equal numbers of trials, a few at a time, the baseline's trials in each, and all values."""
    ours, theirs = (np.bincount(case[side], minlength=cases) for side in (~vendor, vendor))
    starts = np.cumsum(ours + theirs) - ours - theirs
    usable = (ours > 0) & (theirs > 0)
    for m, n in sorted(set(zip(ours[usable].tolist(), theirs[usable].tolist(), strict=True))):
        chosen = np.flatnonzero((ours == m) & (theirs == n))
        for begin in range(0, len(chosen), BLOCK):
            own = chosen[begin : begin + BLOCK]
            yield own, m, values[starts[own][:, None] + np.arange(m + n)]


@dataclass
class Distances:
    """A gate's figures over cases.

    Attributes:
        excess: per case, how much farther the sides are from each other than one is from itself; for faults, the
            vendor's share less the baseline's.
        distance: per case, the distance between the two distributions; nan where a side has one trial.
        own, cross: the mean distance of two trials of the baseline (of the vendor, where the baseline has one), and of
            one of each side.
        single: per case, as ``Samples.single`` has it; -1 where the gate does not apply to both sides.
        dealt_excess, dealt_distance: the sums of the first two with trials dealt to the sides at random.
        traits: per case, those of the only trial of each side; None for a gate that is not judged by traits, and for a
            case that cannot be.
    """

    excess: Array
    distance: Array
    own: Array
    cross: Array
    single: Array
    dealt_excess: Array
    dealt_distance: Array
    traits: list[tuple[set[Any], set[Any]] | None] | None = None

    def is_single(self, least: int = 1) -> bool:
        """Return whether half of the cases or more do not show the spread; for ``ALONE``, have one trial per side."""
        known = self.single[self.single >= 0]
        return bool(2 * (known >= least).sum() >= len(known) > 0)

    def at(self, places: Array) -> Distances:
        """Return the figures of these cases, with the deals that as many cases would have."""
        scale = math.sqrt(len(places) / len(self.excess))
        traits = self.traits and [self.traits[place] for place in places]
        dealt = {name: getattr(self, name) * scale for name in ("dealt_excess", "dealt_distance")}
        figures = {name: getattr(self, name)[places] for name in ("excess", "distance", "own", "cross", "single")}
        return replace(self, **figures, **dealt, traits=traits)


def distances(values: Values, scale: str, cases: int, deals: int, seed: int, single: Array | None = None) -> Distances:
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
    excess, distance, own, cross = np.full((4, cases), np.nan)
    found = Distances(excess, distance, own, cross, np.full(cases, -1, dtype=np.int8), np.zeros(deals), np.zeros(deals))
    random = np.random.default_rng(seed)
    for places, m, block in _blocks(*values, cases):
        found.single[places] = 0 if single is None else single[places]
        if scale == "fault" or block.shape[1] > ALONE:
            _add(found, places, m, block, scale, random)
    return found


def _add(found: Distances, cases: Array, m: int, values: Array, scale: str, random: np.random.Generator) -> None:
    """Add the figures of some cases. Those whose trials all have one value need no deals."""
    if scale == "probabilities":
        values = np.maximum(values.astype(np.float32), LEAST_PROBABILITY)
        values /= values.sum(-1, keepdims=True)
    figures = _faults if scale == "fault" else _novelty if scale == "novelty" and m > 1 else _spread
    moved = np.flatnonzero((values != values[:, :1]).any(axis=(1, 2)))
    found.own[cases] = found.cross[cases] = values[:, 0, 0] if scale == "fault" else 0.0
    if scale not in ("fault", "novelty") and 1 < m < values.shape[1] - 1:
        found.distance[cases] = 0.0
    splits, deals = _splits(m, values.shape[1] - m), len(found.dealt_excess)
    dealt = random.integers(0, len(splits), size=(len(moved), deals), dtype=np.uint16)
    for begin in range(0, len(moved), TOGETHER):
        some, deal = moved[begin : begin + TOGETHER], dealt[begin : begin + TOGETHER]
        own, cross, between = figures(values[some], m, scale)
        found.own[cases[some]], found.cross[cases[some]] = own[:, 0], cross[:, 0]
        found.dealt_excess += np.take_along_axis(cross - own, deal, axis=1).sum(axis=0)
        if between is not None:
            found.distance[cases[some]] = between[:, 0]
            found.dealt_distance += np.take_along_axis(between, deal, axis=1).sum(axis=0)
    found.excess[cases] = found.cross[cases] - found.own[cases]


Figures = tuple[Array, Array, Array | None]
"""The distances of a side's own trials, of both sides' and of their distributions, of shape (cases, splits)."""


def _faults(values: Array, m: int, _scale: str) -> Figures:
    held, n = _splits(m, values.shape[1] - m).T, values.shape[1] - m
    return values[:, :, 0] @ held.astype(float) / m, values[:, :, 0] @ (~held).astype(float) / n, None


def _novelty(values: Array, m: int, _scale: str) -> Figures:
    """Return the shares of answers that the baseline's trials do not have.

    A trial of either side is compared with all trials of the baseline but one: itself, or any, on average. So both
    shares are equal in expectation if the sides' trials have one distribution.
    """
    held, n = _splits(m, values.shape[1] - m).T, values.shape[1] - m
    alike = (values == values[:, None, :, 0]).astype(np.float32) @ held.astype(np.float32)
    unseen = np.where(alike == 0, 1.0, np.where(alike == 1, 1.0 / m, 0.0))
    return ((alike == 1) & held).sum(axis=1) / m, (unseen * ~held).sum(axis=1) / n, None


def _spread(values: Array, m: int, scale: str) -> Figures:
    """Return the mean distances of pairs of trials; the vendor's own stand for those of a baseline of one trial."""
    n = values.shape[1] - m
    held = _splits(m, n).T.astype(np.float64)
    rest = 1 - held
    apart = _between(values[:, :, None], values[:, None, :], scale).astype(np.float64)
    to_held, to_rest = apart @ held, apart @ rest
    ours, theirs, cross = (
        np.einsum("cts,ts->cs", sums, side) / max(1, pairs)
        for sums, side, pairs in ((to_held, held, m * (m - 1)), (to_rest, rest, n * (n - 1)), (to_rest, held, m * n))
    )
    known = m > 1 and n > 1 and scale != "novelty"
    return (ours if m > 1 else theirs), cross, cross - (ours + theirs) / 2 if known else None


def _between(one: Array, other: Array, scale: str) -> Any:
    """Return the distances of two trials: of probabilities, the mean of both Kullback-Leibler divergences."""
    if scale == "number":
        return np.minimum(1.0, np.abs(one - other).max(axis=-1))
    if scale == "probabilities":
        return np.minimum(1.0, 0.5 * ((one - other) * (np.log(one) - np.log(other))).sum(-1))
    return (one != other).mean(axis=-1)


@lru_cache(maxsize=256)
def _splits(m: int, n: int) -> Array:
    """Return the trials that go to the baseline in each way of dealing; the first is the one observed."""
    if comb(m + n, m) <= MOST_SPLITS:
        return np.array([np.isin(np.arange(m + n), chosen) for chosen in combinations(range(m + n), m)])
    random = np.random.default_rng(m * 1000 + n)
    order = random.random((MOST_SPLITS, m + n)).argsort(axis=1)
    return np.concatenate((np.arange(m + n)[None] < m, order < m))


def with_traits(gate: PanelGate, samples: Samples, found: Distances) -> Distances:
    """Return the same with the traits of answers that are the only ones of both sides."""
    pairs = zip(samples.sides, found.single == ALONE, strict=True)
    return replace(
        found, traits=[_traits(gate.name, *ours, *theirs) if alone else None for (ours, theirs), alone in pairs]
    )


def most_telling(gate: PanelGate, found: Distances) -> tuple[Distances, float]:
    """Return the figures of the most telling trait, and McNemar's p-value, corrected for all traits.

    Two draws of one yes-or-no decision differ with a probability of at most one half, whatever the model's spread. So
    decisions have a second test, of the number of cases in which they differ. If it is the more telling one, each
    case's distance is 1 if its decisions differ and otherwise -1, which is on average at most the true distance. The
    p-value is the smaller of both, doubled.
    """
    traits = found.traits or []
    known = [pair for pair in traits if pair]
    counts = Counter(trait for own, other in known for trait in own ^ other)
    ours = Counter(trait for own, other in known for trait in own - other)
    ps = {one: mcnemar(ours[one], count - ours[one]) for one, count in counts.items() if count >= LEAST}
    telling = min(ps, key=ps.__getitem__, default=None)
    sides = [[telling in pair[side] if pair else np.nan for pair in traits] for side in (0, 1)]
    own, cross = np.array(sides, dtype=np.float64)
    figures = replace(found, own=own, cross=cross, excess=cross - own, distance=np.full(len(own), np.nan))
    p = min(1.0, ps.get(telling, 1.0) * max(1, len(ps)))
    if gate.name != "decision":
        return figures, p
    differing = int(np.nansum(np.abs(figures.excess)))
    agreeing = len(known) - differing
    # McNemar's p-value has both tails, and so is already doubled.
    p, chance = min(1.0, 2 * p), mcnemar(agreeing, differing) if differing > agreeing else 1.0
    return (figures, p) if p <= chance else (replace(figures, distance=2 * np.abs(figures.excess) - 1), chance)


def _traits(gate: str, own: Measures, other: Measures) -> tuple[set[Any], set[Any]] | None:
    """Return the traits of both answers; None if they cannot be compared."""
    if gate == "decision":
        return {own.decision} & {CALL}, {other.decision} & {CALL}
    names, others = ({name for name, _ in one.calls} for one in (own, other))
    if gate == "tools":
        return names, others
    common = names & others
    return (_values(own, common), _values(other, common)) if common else None


def _values(found: Measures, names: set[int]) -> set[Any]:
    """Return the arguments that are given, their values, and which of these stand in the request."""
    values = [(name, *value) for name, own in found.calls if name in names for value in own]
    given = {(name, path) for name, path, *_ in values}
    quoted = {(name, path, "quoted") for name, path, _, is_quoted in values if is_quoted}
    return given | quoted | {(name, path, value) for name, path, value, _ in values}
