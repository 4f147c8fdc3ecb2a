"""The distances between two sides' trials at a gate, case by case, and their means.

One trial per side does not show how far a side is from itself, so the distance of two answers means nothing. But a
vendor of the same model has a trait that the baseline lacks as often as the other way round: such cases are compared by
the traits of their answers.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import comb
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialbed.statistics import mcnemar
from trialbed_verify.panel._answers import CALL, GATES, WHOLE, Measures, PanelGate, Scale, all_gates
from trialbed_verify.panel._trials import Trials

Array = NDArray[Any]

Values = tuple[Array, Array, Array]
"""Values of shape (trials, places), and the case and the side of each trial, True for the vendor's; ordered by case,
and in it the baseline's before the vendor's."""

ALPHA = 0.05
"""Chance of each of the two errors, and beyond each end of an interval: both are one-sided bounds at 95 %."""

LEAST_SHARE = 0.5
"""Least share of all cases in an average; if fewer apply, the missing ones count as equal."""

MOST = 1_000_000
"""Cases beyond which a number is of no use: the vendor is as far from the baseline as the margin."""

NOISE = 1e-24
"""Variance that comes from rounding alone."""

Z = NormalDist().inv_cdf(1 - ALPHA)

BLOCK, TOGETHER = 2048, 256
"""Cases in memory at a time, and cases per step when adding up deals."""

MOST_SPLITS = 512
"""Ways to deal a case's trials to the sides, chosen at random if there are more."""

LEAST_PROBABILITY = 1e-4
"""Alternatives below this probability count as equally likely; rounding dominates there."""

MOST_DEALS = 10_000
"""Deals if few of the first were as unusual as the answers."""

ENOUGH = 10
"""Deals as unusual as the answers, after which no more are needed."""

MORE = 1 << 32
"""Added to the seed for further deals; larger than any other seed."""

ROUNDING = 1e-9

ALONE = 2
"""Marks a case of which both sides have one trial; 1 marks one in which a side's own spread is not known."""

LEAST = 6
"""Cases that must differ in a trait for it to count: fewer show nothing at 5 %."""


@dataclass(frozen=True)
class Mean:
    """A mean over cases.

    Attributes:
        value, n: over the cases that have one, and their number.
        low, high: its 90 % interval, corrected for skewness; if all cases are equal, with the allowance
            for rare cases not seen.
        weighed: the decisive mean; missing cases can count as 0.
        counted: number of cases in ``weighed``.
        spread: standard deviation over the cases that are counted.
        directed: whether only more than 0 counts; otherwise its size does.
    """

    value: float
    n: int
    low: float
    high: float
    weighed: float
    counted: int
    spread: float
    directed: bool

    @property
    def size(self) -> float:
        """Return how much there is of what counts, by the mean that decides."""
        return self.weighed if self.directed else abs(self.weighed)

    @property
    def error(self) -> float:
        """Return the standard error."""
        return self.spread / math.sqrt(self.counted)

    @property
    def at_most(self) -> float:
        """Return the upper bound that decides, of the mean or, unless directed, of its size."""
        bound = self.size + allowance(self.spread, self.counted)
        ends = (self.high, self.high if self.directed else -self.low)
        return bound if self.counted > self.n else max(bound, *ends)

    def is_beyond(self, margin: float) -> bool:
        """Return whether it is shown to lie beyond a margin, as the interval says too; only above if directed."""
        least = self.low if self.directed or self.value > 0 else -self.high
        return min(least, self.size - Z * self.error) > margin

    def may_be_chance(self, margin: float) -> bool:
        """Return whether a larger comparison may show no difference at all: it is small, or within two errors of 0."""
        return self.size < max(margin / 2, 2 * self.error)

    def cases_needed(self, margin: float) -> int:
        """Return the cases that would show it to lie within a margin or beyond it, with a chance of 95 %."""
        value = 0.0 if self.may_be_chance(margin) else self.size
        if value > margin:
            return math.ceil((2 * Z * self.spread / (value - margin)) ** 2)

        def is_enough(n: int) -> bool:
            return min(value, margin * 0.9) + Z * self.spread / math.sqrt(n) + allowance(self.spread, n) < margin

        return bisect_left(range(MOST + 1), True, lo=1, key=is_enough)

    def as_json(self) -> dict[str, Any]:
        """Return its part of a document."""
        return {name: getattr(self, name) for name in ("value", "low", "high", "n", "at_most")}


def mean_over_cases(values: Array, *, directed: bool, over_all: bool = True) -> Mean | None:
    """Return the mean of the known values; None without values. All but costs lie between -1 and 1.

    If fewer than half of the cases have a value, the decisive mean is over half of the cases, and missing ones count as
    0. A subject that few requests concern can then neither hold up a verdict nor decide it alone. Without ``over_all``,
    the decisive mean is over the cases that have a value.
    """
    known = values[np.isfinite(values)]
    n = len(known)
    if not n:
        return None
    furthest = max(1.0, float(np.abs(known).max()))
    counted = max(n, math.ceil(LEAST_SHARE * len(values)) if over_all else 0)
    value, weighed = float(known.mean()), float(known.sum()) / counted
    low, high = _interval(known - value)
    squares = float(((known - weighed) ** 2).sum()) + (counted - n) * weighed**2
    spread = math.sqrt(squares / (counted - 1)) if squares > NOISE * counted else 0.0
    return Mean(value, n, max(-furthest, value + low), min(furthest, value + high), weighed, counted, spread, directed)


def _interval(apart: Array) -> tuple[float, float]:
    """Return the ends of the interval, relative to the mean.

    Student's interval with half of the degrees of freedom that the kurtosis leaves: few cases may carry the variance,
    and a sample underestimates the kurtosis. It is moved by the known part of the skewness:
    N. Johnson, "Modified t Tests and Confidence Intervals for Asymmetrical Populations", Journal of the American
    Statistical Association 73 (1978), 536-544.
    """
    n = len(apart)
    second, third, fourth, sixth = (float((apart**power).mean()) for power in (2, 3, 4, 6))
    if second <= NOISE:
        return -allowance(0.0, n), allowance(0.0, n)
    variance = second * n / (n - 1)
    freedom = max(3.0, min(n - 1.0, n / max(fourth / second**2 - 1, 1 / n)))
    # Student's quantile by its expansion around the normal one.
    student = Z + (Z**3 + Z) / (4 * freedom) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)
    half = student * math.sqrt(variance / n)
    noise = max(sixth - third**2, 0.0) / n
    known = max(0.0, 1 - 2 * noise / third**2) if third else 0.0
    shift = known * third / (6 * variance * n) * (1 + 2 * Z * Z)
    shift = max(-half, min(half, shift))
    return shift - half, shift + half


def allowance(spread: float, n: int) -> float:
    """Return the distance from a mean to its upper bound.

    The bound is the mean at which the one observed would be at the 5 % point, if rare cases that differ entirely were
    not seen: (mean - observed)^2 = z^2 (spread^2 + (mean - observed)) / n. Without spread it is z^2 / n, about Wilson's
    bound of a proportion with no observed events.
    """
    half = Z * Z / (2 * n)
    return half + math.sqrt(half * half + Z * Z * spread * spread / n)


def fewest_cases(margin: float) -> int:
    """Return the number of cases that a gate needs to be shown within its margin if no case differs."""
    return math.ceil(Z * Z / margin / LEAST_SHARE) + 1


@dataclass(frozen=True)
class Distances:
    """A gate's figures over cases.

    For trials x of the baseline and y of the vendor, with a distance d between trials:

        excess    mean d(x, y) - mean d(x, x')
        distance  mean d(x, y) - (mean d(x, x') + mean d(y, y')) / 2

    The means are over all pairs of different trials. Both are 0 in expectation if the sides' trials have one
    distribution. The second is the energy distance as a U-statistic. Source: G. Szekely and M. Rizzo, "Energy
    Statistics: A Class of Statistics Based on Distances", Journal of Statistical Planning and Inference 143 (2013),
    1249-1272. For faults, the excess is the vendor's share less the baseline's.

    Attributes:
        own, cross: the mean distance of two trials of the baseline (of the vendor, if the baseline has one), and of
            one of each side.
        distance: nan if a side has one trial.
        single: per case 0 if its trials show the spread that the gate needs, 1 if not, or ``ALONE``; -1 if the gate
            does not apply to both sides.
        dealt: the sums of excess and distance for random deals of trials to the sides, shape (2, deals).
        traits: per case, the traits of each side's only trial; None if the gate is not judged by traits, or for a
            case that cannot be.
    """

    own: Array
    cross: Array
    distance: Array
    single: Array
    dealt: Array
    traits: list[tuple[set[Any], set[Any]] | None] | None = None

    @property
    def excess(self) -> Array:
        """Return the distance between the sides beyond the distance within one."""
        return self.cross - self.own

    def is_single(self, least: int = 1) -> bool:
        """Return whether half of the cases or more do not show the spread; for ``ALONE``, have one trial per side."""
        known = self.single[self.single >= 0]
        return bool(2 * (known >= least).sum() >= len(known) > 0)

    def at(self, places: Array) -> Distances:
        """Return the figures of these cases, with the deals that as many cases would have."""
        figures = {name: getattr(self, name)[places] for name in ("own", "cross", "distance", "single")}
        dealt = self.dealt * math.sqrt(len(places) / len(self.own))
        return replace(self, **figures, dealt=dealt, traits=self.traits and [self.traits[place] for place in places])


@dataclass(frozen=True)
class Compared:
    """A gate's distances over cases with their means and p-value, which is not corrected."""

    gate: PanelGate
    distances: Distances
    excess: Mean | None
    distance: Mean | None
    p: float

    @property
    def figures(self) -> list[tuple[str, Mean, float]]:
        """Return the name, mean and margin of both figures, if known."""
        both = ("excess", self.excess, self.gate.margin), ("distance", self.distance, self.gate.distance_margin)
        return [(name, mean, margin) for name, mean, margin in both if mean is not None and margin is not None]


def compare_gates(sides: Sequence[Trials], margins: Mapping[str, float], deals: int, seed: int) -> list[Compared]:
    """Compare the sides at every gate and, as the last one, at everything together; options are the panel's."""
    counts = np.array([(len(ours), len(theirs)) for ours, theirs in sides], dtype=np.int64).reshape(-1, 2)
    case = np.repeat(np.arange(len(sides)), counts.sum(1))
    vendor = np.repeat(np.tile([False, True], len(sides)), counts.ravel())
    trials = [trial for pair in sides for side in pair for trial in side]
    found = []
    for number, gate in [*enumerate(all_gates(trials, margins)), (len(GATES), WHOLE)]:
        own = [gate.value(trial) for trial in trials]
        kept = np.array([one is not None for one in own], dtype=bool)
        known: Any = [one for one in own if one is not None]
        if known and isinstance(known[0], bytes):
            known = np.frombuffer(b"".join(known), dtype="f2" if gate.scale == "probabilities" else "u2")
        known = np.asarray(known).reshape(int(kept.sum()), -1 if len(known) else 1)
        fewer = counts[:, 0] if gate.scale == "novelty" else counts.min(1)
        single = np.where(counts.sum(1) == ALONE, ALONE, fewer == 1) * (gate.scale != "fault")
        values, own_seed = (known, case[kept], vendor[kept]), seed * 1000 + number
        one = compare_values(gate, values, len(sides), deals, own_seed, single)
        if gate.trait and one.distances.is_single(ALONE):
            pairs = zip(sides, one.distances.single == ALONE, strict=True)
            traits = [_traits(gate.name, *ours, *theirs) if alone else None for (ours, theirs), alone in pairs]
            one = with_means(gate, replace(one.distances, traits=traits))
        elif deals < MOST_DEALS and one.p * (deals + 1) <= ENOUGH:
            # Source: J. Besag and P. Clifford, "Sequential Monte Carlo p-values", Biometrika 78 (1991), 301-304.
            more = compare_values(gate, values, len(sides), MOST_DEALS - deals, own_seed + MORE, single).distances
            dealt = np.concatenate((one.distances.dealt, more.dealt), axis=1)
            one = with_means(gate, replace(one.distances, dealt=dealt))
        found.append(one)
    return found


def compare_values(
    gate: PanelGate, values: Values, cases: int, deals: int, seed: int, single: Array | None = None
) -> Compared:
    """Compare the sides at a gate by values of its scale; ``single`` is as ``Distances`` has it."""
    own, cross, distance = np.full((3, cases), np.nan)
    found = Distances(own, cross, distance, np.full(cases, -1), np.zeros((2, deals)))
    random = np.random.default_rng(seed)
    for places, m, block in _blocks(*values, cases):
        found.single[places] = 0 if single is None else single[places]
        if gate.scale == "fault" or block.shape[1] > ALONE:
            _add(found, places, m, block, gate.scale, random)
    return with_means(gate, found)


def with_means(gate: PanelGate, found: Distances) -> Compared:
    """Return a gate's distances with their means and the p-value."""
    found, p = (found, _p_value(gate, found)) if found.traits is None else _most_telling(gate, found, found.traits)
    over_all = not gate.stands_alone
    excess = mean_over_cases(found.excess, directed=gate.is_directed, over_all=over_all)
    return Compared(gate, found, excess, mean_over_cases(found.distance, directed=True, over_all=over_all), p)


def _p_value(gate: PanelGate, found: Distances) -> float:
    """Return the share of deals with at least the observed difference, by the more significant of both figures.

    Labels are exchanged within cases only, so the test is exact even if cases are related.
    """
    sums = np.nansum([found.excess, found.distance], axis=1, keepdims=True)
    each, spreads = np.append(found.dealt, sums, axis=1), found.dealt.std(axis=1)
    if not spreads.any():
        return 1.0
    each[0] = each[0] if gate.is_directed else np.abs(each[0])
    most = (each[spreads > 0] / spreads[spreads > 0, None]).max(axis=0)
    return float((most >= most[-1] - ROUNDING).mean())


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


def _add(found: Distances, cases: Array, m: int, values: Array, scale: Scale, random: np.random.Generator) -> None:
    """Add the figures of some cases. If all trials of a case have one value, it needs no deals."""
    if scale == "probabilities":
        values = np.maximum(values.astype(np.float32), LEAST_PROBABILITY)
        values /= values.sum(-1, keepdims=True)
    figures = _faults if scale == "fault" else _novelty if scale == "novelty" and m > 1 else _spread
    moved = np.flatnonzero((values != values[:, :1]).any(axis=(1, 2)))
    found.own[cases] = found.cross[cases] = values[:, 0, 0] if scale == "fault" else 0.0
    if scale not in ("fault", "novelty") and 1 < m < values.shape[1] - 1:
        found.distance[cases] = 0.0
    splits, deals = _splits(m, values.shape[1] - m), found.dealt.shape[1]
    dealt = random.integers(0, len(splits), size=(len(moved), deals), dtype=np.uint16)
    for begin in range(0, len(moved), TOGETHER):
        some, deal = moved[begin : begin + TOGETHER], dealt[begin : begin + TOGETHER]
        own, cross, between = figures(values[some], m, scale)
        found.own[cases[some]], found.cross[cases[some]] = own[:, 0], cross[:, 0]
        found.dealt[0] += np.take_along_axis(cross - own, deal, axis=1).sum(axis=0)
        if between is not None:
            found.distance[cases[some]] = between[:, 0]
            found.dealt[1] += np.take_along_axis(between, deal, axis=1).sum(axis=0)


Figures = tuple[Array, Array, Array | None]
"""The distances of a side's own trials, of both sides' and of their distributions, of shape (cases, splits)."""


def _faults(values: Array, m: int, _scale: Scale) -> Figures:
    held, n = _splits(m, values.shape[1] - m).T, values.shape[1] - m
    return values[:, :, 0] @ held.astype(float) / m, values[:, :, 0] @ (~held).astype(float) / n, None


def _novelty(values: Array, m: int, _scale: Scale) -> Figures:
    """Return the shares of answers that the baseline's trials do not have.

    A trial of either side is compared with all trials of the baseline but one: itself, or any, on average. So both
    shares are equal in expectation if the sides' trials have one distribution.
    """
    held, n = _splits(m, values.shape[1] - m).T, values.shape[1] - m
    alike = (values == values[:, None, :, 0]).astype(np.float32) @ held.astype(np.float32)
    unseen = np.where(alike == 0, 1.0, np.where(alike == 1, 1.0 / m, 0.0))
    return ((alike == 1) & held).sum(axis=1) / m, (unseen * ~held).sum(axis=1) / n, None


def _spread(values: Array, m: int, scale: Scale) -> Figures:
    """Return the mean distances of pairs of trials; the vendor's own replace a single-trial baseline's."""
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


def _between(one: Array, other: Array, scale: Scale) -> Any:
    """Return the distances of two trials; for probabilities, the mean of both Kullback-Leibler divergences."""
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


def _most_telling(
    gate: PanelGate, found: Distances, traits: Sequence[tuple[set[Any], set[Any]] | None]
) -> tuple[Distances, float]:
    """Return the figures of the most significant trait, and McNemar's p-value, corrected for all traits.

    Two draws of one yes-or-no decision differ with a probability of at most one half. So decisions have a second test,
    of the number of cases with different decisions. If it is the more significant one, each case's distance is 1 if its
    decisions differ and otherwise -1, which is on average at most the true distance. The p-value is the smaller of
    both, doubled.
    """
    known = [pair for pair in traits if pair]
    ours, theirs = (Counter(trait for pair in known for trait in pair[a] - pair[1 - a]) for a in (0, 1))
    counts = ours + theirs
    ps = {one: mcnemar(ours[one], theirs[one]) for one, count in counts.items() if count >= LEAST}
    # Of equally telling ones, a trait of the vendor's.
    telling = min(ps, key=lambda one: (ps[one], ours[one] - theirs[one]), default=None)
    sides = [[telling in pair[side] if pair else np.nan for pair in traits] for side in (0, 1)]
    own, cross = np.array(sides, dtype=np.float64)
    figures = replace(found, own=own, cross=cross, distance=np.full(len(own), np.nan))
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
