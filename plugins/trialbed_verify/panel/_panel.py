"""The panel: every gate measured, and the verdict that follows from all of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trialbed.statistics import holm
from trialbed_verify.panel._bounds import (
    ALPHA,
    FEWEST,
    Mean,
    Z,
    fewest_cases,
    mean_over_cases,
)
from trialbed_verify.panel._distances import (
    ALONE,
    Array,
    Distances,
    Samples,
    Values,
    distances,
    most_telling,
    with_traits,
)
from trialbed_verify.panel._examples import example
from trialbed_verify.panel._gates import DISTANCE_SHARE, GATES, UNLIKE, WHOLE, PanelGate, further_gates, with_margins
from trialbed_verify.panel._measures import BITS
from trialbed_verify.panel._results import Conclusion, GateFinding, GateResult, Panel, conclude
from trialbed_verify.panel._trials import Trials, prepare_trials, price_ratio

MOST_DEALS = 10_000
"""Deals where few of the first were as unusual as the answers."""

ENOUGH = 10
"""Deals as unusual as the answers, after which no more are needed."""

MOST_CASES = 1_000_000
"""Cases beyond which a number is of no use: the vendor is as far from the baseline as the margin."""

MORE = 1 << 32
"""Apart from all other seeds: that of further deals."""

ROUNDING = 1e-9

ONE_TRIAL = "one trial per case does not show a side's own spread"


@dataclass(frozen=True)
class PanelOptions:
    """Options of the panel.

    Attributes:
        margins: gate -> its margin, where it is not the usual one; choose them before looking at the results.
        permutations: of the trials' labels; ten times as many where few of them are as unusual as the answers.
        seed: of all random draws.
        prices: of the baseline and of the vendor: ``input`` and ``output``, per million tokens; empty if unknown.
        other_models: a sentence if the sides ask for different models: the gate ``model`` does not apply then, and
            the reason of the verdict begins with it.
    """

    margins: Mapping[str, float] = field(default_factory=dict)
    permutations: int = 999
    seed: int = 0
    prices: tuple[Mapping[str, float], ...] = ({}, {})
    other_models: str = ""


@dataclass(frozen=True)
class Compared:
    """A gate's distances over cases with their means and p-value, which is not corrected."""

    gate: PanelGate
    distances: Distances
    excess: Mean | None
    distance: Mean | None
    p: float


def judge(sides: Sequence[Trials], options: PanelOptions | None = None) -> Panel:
    """Compare a vendor with a baseline on every gate.

    Args:
        sides: per case, the measures of the baseline's trials and of the vendor's.
    """
    chosen = options or PanelOptions()
    kept, remarks, copies = prepare_trials(sides, BITS["model"] if chosen.other_models else 0)
    samples = Samples.of(kept)
    compared, whole = _compare(samples, chosen)
    results, p_whole = _settle(compared, whole, len(kept))
    for place, (one, result) in enumerate(zip(compared, results, strict=True)):
        if result.finding == "different":
            results[place] = replace(result, example=example(one.gate, one.distances, kept))
        if chosen.other_models and one.gate.name == "model":
            results[place] = GateResult(one.gate, "not applicable", chosen.other_models)
    finding, needed = conclude(results, p_whole, len(kept))
    unjudged = ", ".join(result.gate.label for result in results if result.finding == "not judged")
    remarks += [f"not judged, as {ONE_TRIAL}: {unjudged}"] if unjudged else []
    ours, theirs = (samples.counts.sum(0) / max(1, len(kept))).tolist()
    return Panel(
        finding,
        tuple(results),
        p_whole,
        len(kept),
        (ours, theirs),
        needed,
        chosen.other_models,
        remarks=tuple(remarks),
        deals=max(len(one.distances.dealt_excess) for one in (*compared, whole)),
        seed=chosen.seed,
        copies=copies,
        price=price_ratio(sides, chosen.prices),
    )


def resample_verdict(
    sides: Sequence[Trials], sizes: Sequence[int], *, draws: int = 100
) -> dict[int, dict[Conclusion, float]]:
    """Return, for numbers of cases, the share of resamples with each verdict.

    Cases are drawn with replacement. The sums over dealt trials, whose mean is 0, are scaled to the number of cases.
    A difference that may be chance counts as none, as in the number of cases that a comparison asks for: repeated in
    ever more cases, chance would be taken for a difference.

    Args:
        sides: as ``judge`` takes them.
    """
    kept, _, _ = prepare_trials(sides)
    compared, whole = _compare(Samples.of(kept), PanelOptions())
    figures = [(one.gate, _without_chance(one)) for one in (*compared, whole)]
    random = np.random.default_rng(0)

    def draw(cases: int) -> Conclusion:
        places = random.integers(0, len(kept), cases)
        *drawn, drawn_whole = (_with_means(gate, found.at(places)) for gate, found in figures)
        return conclude(*_settle(drawn, drawn_whole, cases), cases)[0]

    counts = {cases: Counter(draw(cases) for _ in range(draws)) for cases in sizes}
    return {cases: {finding: count / draws for finding, count in own.items()} for cases, own in counts.items()}


def _without_chance(one: Compared) -> Distances:
    """Return a gate's distances, moved to a mean of 0 if theirs may be chance."""
    found, gate = one.distances, one.gate
    for name, margin, directed in (("excess", gate.margin, gate.is_directed), ("distance", gate.distance_margin, True)):
        mean: Mean | None = getattr(one, name)
        if mean and found.traits is None and mean.may_be_chance(margin or gate.margin, directed=directed):
            found = replace(found, **{name: getattr(found, name) - mean.value})
    return found


def _compare(samples: Samples, options: PanelOptions) -> tuple[list[Compared], Compared]:
    """Compare at every gate, and at all of them together."""
    gates = with_margins([*GATES, *further_gates(samples.trials)], options.margins)
    compared = [_compare_at(gate, samples, options, number) for number, gate in enumerate(gates)]
    return compared, _compare_at(WHOLE, samples, options, len(GATES))


def _settle(compared: Sequence[Compared], whole: Compared, cases: int) -> tuple[list[GateResult], float | None]:
    """Return the findings at all gates, and the p-value of all together; None without cases.

    The latter is the smaller, doubled, of that of the share of subjects in which two answers differ, which sees small
    differences in many of them, and of the corrected ones of single gates, which see a large one in one.
    """
    corrected = holm({one.gate.name: one.p for one in compared if one.excess is not None})
    results = [settle(one, corrected.get(one.gate.name, 1.0), cases) for one in compared]
    if whole.excess is None:
        return results, None
    # What they are worth is said beside the verdict.
    single = [result.p_holm for result in results if result.gate.name not in UNLIKE]
    return results, min(1.0, 2 * min(whole.p, *single))


def _compare_at(gate: PanelGate, samples: Samples, options: PanelOptions, number: int) -> Compared:
    values, single, cases = samples.values(gate), samples.single(gate.scale), len(samples.sides)
    seed = options.seed * 1000 + number
    first = compare_values(gate, values, cases, options.permutations, seed, single)
    if gate.trait and first.distances.is_single(ALONE):
        return _with_means(gate, with_traits(gate, samples, first.distances))
    more = MOST_DEALS - options.permutations
    if more <= 0 or first.p * (options.permutations + 1) > ENOUGH:
        return first
    # Source: J. Besag and P. Clifford, "Sequential Monte Carlo p-values", Biometrika 78 (1991), 301-304.
    other = distances(values, gate.scale, cases, more, seed + MORE, single)
    excess = np.concatenate((first.distances.dealt_excess, other.dealt_excess))
    distance = np.concatenate((first.distances.dealt_distance, other.dealt_distance))
    return _with_means(gate, replace(first.distances, dealt_excess=excess, dealt_distance=distance))


def compare_values(
    gate: PanelGate, values: Values, cases: int, deals: int, seed: int, single: Array | None = None
) -> Compared:
    """Compare the sides at a gate by values of its scale.

    Args:
        cases, deals, seed, single: as ``distances`` takes them.
    """
    return _with_means(gate, distances(values, gate.scale, cases, deals, seed, single))


def _with_means(gate: PanelGate, found: Distances) -> Compared:
    """Return a gate's distances with their means and the p-value."""
    found, p = (found, _p_value(gate, found)) if found.traits is None else most_telling(gate, found)
    excess, distance = (
        mean_over_cases(values, over_all=not gate.stands_alone) for values in (found.excess, found.distance)
    )
    return Compared(gate, found, excess, distance, p)


def _p_value(gate: PanelGate, found: Distances) -> float:
    """Return the share of deals in which the sides differ as much as they do, in the more telling of both figures.

    Labels of trials are exchanged within cases only, so the test is exact whatever the cases have in common.
    """
    statistics = []
    for values, dealt, directed in (
        (found.excess, found.dealt_excess, gate.is_directed),
        (found.distance, found.dealt_distance, True),
    ):
        if (spread := float(dealt.std())) > 0:
            each = np.append(dealt, np.nansum(values)) / spread
            statistics.append(each if directed else np.abs(each))
    if not statistics:
        return 1.0
    most = np.max(statistics, axis=0)
    return float((most >= most[-1] - ROUNDING).mean())


def settle(one: Compared, p_holm: float, cases: int) -> GateResult:
    """Return the finding at a gate.

    Args:
        cases: of the whole comparison.
    """
    gate, found, excess = one.gate, one.distances, one.excess
    if excess is None and not found.is_single():
        return GateResult(gate, "not applicable", "no case has what it compares on both sides")
    if excess is None:
        return GateResult(gate, "not judged", ONE_TRIAL)
    known = np.isfinite(found.excess)
    baseline, vendor = float(found.own[known].mean()), float(found.cross[known].mean())
    if found.traits is None:
        finding, reason, needed = _finding(one, excess, p_holm, cases)
        return GateResult(gate, finding, reason, excess, one.distance, baseline, vendor, one.p, p_holm, needed)
    pairs = [pair for pair in found.traits if pair]
    differing = sum(own != other for own, other in pairs), len(pairs)
    apart, margin = abs(excess.value), gate.margin
    if one.distance is not None:
        apart, margin = one.distance.value, gate.margin * DISTANCE_SHARE
    if p_holm > ALPHA or apart <= margin:
        return GateResult(gate, "not judged", ONE_TRIAL, p=one.p, p_holm=p_holm, differing=differing)
    ours, theirs = (int((found.excess == sign).sum()) for sign in (-1, 1))
    reason = f"p = {one.p:.2g}: {ours} {gate.having} at the baseline only, {theirs} at the vendor only"
    if one.distance is not None:
        times = f"{differing[0]:,} of {differing[1]:,} cases"
        reason = f"{gate.trait} differ in {times}, more than chance alone could explain (p = {one.p:.2g})"
    result = GateResult(gate, "different", reason, excess, one.distance, baseline, vendor, one.p, p_holm)
    return replace(result, differing=differing)


def _finding(one: Compared, excess: Mean, p_holm: float, cases: int) -> tuple[GateFinding, str, int | None]:
    gate, distance = one.gate, one.distance
    figures = [("excess", excess, gate.margin, gate.is_directed)]
    if distance is not None and gate.distance_margin is not None:
        figures.append(("distance", distance, gate.distance_margin, True))
    beyond = [name for name, mean, margin, directed in figures if mean.is_beyond(margin, directed=directed)]
    if beyond and p_holm <= ALPHA:
        return "different", f"its {beyond[0]} is shown to exceed the margin", None
    seems = any((mean.value if directed else abs(mean.value)) > margin for _, mean, margin, directed in figures)
    if one.distances.is_single():
        return "not judged", ONE_TRIAL, None
    if excess.n < (max(FEWEST, math.ceil(Z * Z / gate.margin) + 1) if gate.stands_alone else FEWEST):
        if not seems:
            return "too few cases", f"{excess.n} cases have what it compares, too few to judge", None
        reason = f"beyond the margin in the {excess.n} cases that have it, too few to judge"
        return "inconclusive", reason, _cases_needed(one, cases)
    # Without the distance, a side's own spread is not known.
    known = gate.is_directed or len(figures) > 1
    within = known and all(mean.at_most(directed=directed) < margin for _, mean, margin, directed in figures)
    is_shown = any(mean.low > 0 or (not directed and mean.high < 0) for _, mean, _, directed in figures)
    if within and not (seems and excess.n < excess.counted and is_shown):
        return "equivalent", "shown to be within the margin", None
    if not known:
        return "inconclusive", ONE_TRIAL, None
    return "inconclusive", "not shown to be within the margin or beyond it", _cases_needed(one, cases)


def _cases_needed(one: Compared, cases: int) -> int | None:
    """Return the cases that would settle the gate, if the figures seen are right; None if more would not help."""
    counts = [fewest_cases(one.gate.distance_margin or one.gate.margin)]
    if one.excess is not None and one.excess.n < FEWEST:
        # The spread of so few cases says nothing about that of more.
        return max(*counts, math.ceil(cases * FEWEST / one.excess.n), cases + 1)
    for mean, margin in ((one.excess, one.gate.margin), (one.distance, one.gate.distance_margin)):
        if mean is not None and margin is not None:
            counts.append(math.ceil(cases / mean.counted * mean.cases_needed(margin, directed=one.gate.is_directed)))
    needed = max(max(counts), cases + 1)
    return needed if needed <= MOST_CASES else None
