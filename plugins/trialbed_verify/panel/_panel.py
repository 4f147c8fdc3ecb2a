"""The panel: every gate measured, and the verdict that follows from all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trialbed.statistics import holm
from trialbed_verify.panel._arguments import with_settled_arguments
from trialbed_verify.panel._bounds import ALPHA, Mean, mean_over_cases
from trialbed_verify.panel._copies import without_copies
from trialbed_verify.panel._distances import DTYPES, Distances, distances
from trialbed_verify.panel._examples import example
from trialbed_verify.panel._gates import GATES, WHOLE, PanelGate, suite_gates, with_margins
from trialbed_verify.panel._planning import FEWEST, cases_for_difference, cases_for_equivalence, fewest_cases
from trialbed_verify.panel._results import Conclusion, GateFinding, GateResult, Panel
from trialbed_verify.panel._samples import Samples, Trials

PERMUTATIONS = 999

MOST_CASES = 1_000_000
"""Cases beyond which a number is of no use: the vendor is as far from the baseline as the margin."""

ROUNDING = 1e-9


@dataclass(frozen=True)
class PanelOptions:
    """Options of the panel.

    Attributes:
        margins: gate -> its margin, where it is not the usual one; choose them before looking at the results.
        permutations: of the trials' labels.
        seed: of all random draws.
    """

    margins: Mapping[str, float] = field(default_factory=dict)
    permutations: int = PERMUTATIONS
    seed: int = 0


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
    kept, copies = without_copies(sides)
    kept = with_settled_arguments(kept)
    samples = Samples.of(kept)
    suites = sorted({trial.suite[0] for trial in samples.trials if trial.suite is not None})
    gates = with_margins([*GATES, *suite_gates(suites)], chosen.margins)
    compared = [_compare_at(gate, samples, chosen, number) for number, gate in enumerate(gates)]
    corrected = holm({one.gate.name: one.p for one in compared if one.excess is not None})
    results = [settle(one, corrected.get(one.gate.name, 1.0), samples.cases) for one in compared]
    results = [
        replace(result, example=example(one.gate, one.distances, kept)) if result.finding == "different" else result
        for result, one in zip(results, compared, strict=True)
    ]
    trials = samples.trials_per_case
    finding, reason, needed = _conclusion(results, samples.cases, trials)
    return Panel(
        finding=finding,
        reason=reason,
        gates=tuple(results),
        whole=_whole(samples, results, chosen),
        cases=samples.cases,
        trials=trials,
        remarks=copies.remarks,
        needed=needed,
        deals=chosen.permutations,
        seed=chosen.seed,
        copies=copies.found,
    )


def _compare_at(gate: PanelGate, samples: Samples, options: PanelOptions, number: int) -> Compared:
    dtype = "i8" if gate is WHOLE else DTYPES[gate.scale]
    blocks = samples.blocks(gate.value, dtype)
    seed = options.seed * 1000 + number
    return with_means(gate, distances(blocks, gate.scale, samples.cases, options.permutations, seed))


def with_means(gate: PanelGate, found: Distances) -> Compared:
    """Return a gate's distances with their means and the p-value."""
    return Compared(gate, found, mean_over_cases(found.excess), mean_over_cases(found.distance), p_value(gate, found))


def p_value(gate: PanelGate, found: Distances) -> float:
    """Return the share of deals in which the sides differ as much as they do, in the more telling of both figures.

    Labels of trials are exchanged within cases only, so the test is exact whatever the cases have in common.
    """
    statistics = []
    for values, dealt, directed in (
        (found.excess, found.dealt_excess, gate.scale == "fault"),
        (found.distance, found.dealt_distance, True),
    ):
        spread = float(dealt.std())
        if spread > 0:
            observed, drawn = np.nansum(values) / spread, dealt / spread
            statistics.append((observed, drawn) if directed else (abs(observed), np.abs(drawn)))
    if not statistics:
        return 1.0
    seen = max(float(one) for one, _ in statistics)
    dealt_out = np.max([drawn for _, drawn in statistics], axis=0)
    return float((int((dealt_out >= seen - ROUNDING).sum()) + 1) / (len(dealt_out) + 1))


def settle(one: Compared, p_holm: float, cases: int) -> GateResult:
    """Return the finding at a gate.

    Args:
        cases: of the whole comparison.
    """
    if one.excess is None:
        return GateResult(one.gate, "not applicable", "no case has what it compares on both sides")
    finding, reason, needed = _finding(one, one.excess, p_holm, cases)
    return GateResult(
        gate=one.gate,
        finding=finding,
        reason=reason,
        excess=one.excess,
        distance=one.distance,
        baseline=_mean(one.distances.own),
        vendor=_mean(one.distances.cross),
        p=one.p,
        p_holm=p_holm,
        needed=needed,
    )


def _finding(one: Compared, excess: Mean, p_holm: float, cases: int) -> tuple[GateFinding, str, int | None]:
    gate, distance = one.gate, one.distance
    fault = gate.scale == "fault"
    figures = [("excess", excess, gate.margin, fault)]
    if distance is not None and gate.distance_margin is not None:
        figures.append(("distance", distance, gate.distance_margin, True))
    beyond = [name for name, mean, margin, directed in figures if mean.is_beyond(margin, directed=directed)]
    if beyond and p_holm <= ALPHA:
        return "different", f"its {beyond[0]} is shown to exceed the margin", None
    seems = any(mean.seems_beyond(margin, directed=directed) for _, mean, margin, directed in figures)
    if excess.n < FEWEST:
        if not seems:
            return "too few cases", f"{excess.n} cases have what it compares, too few to judge", None
        return (
            "inconclusive",
            f"beyond the margin in the {excess.n} cases that have it, too few to judge",
            _cases_needed(one, cases),
        )
    # Without the distance, a side's own spread is not known.
    known = fault or len(figures) > 1
    within = known and all(mean.is_within(margin, directed=directed) for _, mean, margin, directed in figures)
    if within and not (seems and excess.n < excess.counted and _is_shown(excess, distance)):
        return "equivalent", "shown to be within the margin", None
    if not fault and distance is None:
        return "inconclusive", "one trial per case does not show a side's own spread", None
    needed = _cases_needed(one, cases)
    return "inconclusive", "not shown to be within the margin or beyond it", needed


def _is_shown(excess: Mean, distance: Mean | None) -> bool:
    """Return whether a difference is shown at all, over the cases that have the figure."""
    return excess.low > 0 or excess.high < 0 or (distance is not None and distance.low > 0)


def _cases_needed(one: Compared, cases: int) -> int | None:
    """Return the cases that would settle the gate, if the figures seen are right; None if more would not help."""
    counts = [fewest_cases(one.gate.distance_margin or one.gate.margin)]
    if one.excess is not None and one.excess.n < FEWEST:
        # The spread of so few cases says nothing about that of more.
        return max(*counts, math.ceil(cases * FEWEST / one.excess.n), cases + 1)
    for mean, margin in ((one.excess, one.gate.margin), (one.distance, one.gate.distance_margin)):
        if mean is None or margin is None:
            continue
        value = mean.weighed if one.gate.scale == "fault" else abs(mean.weighed)
        scale = cases / mean.counted
        close = value - 2 * mean.spread / math.sqrt(mean.counted) < 0
        if close or value < margin / 2:
            counts.append(math.ceil(scale * cases_for_equivalence(mean.spread, margin, 0.0)))
        elif value > margin:
            counts.append(math.ceil(scale * cases_for_difference(mean.spread, margin, value)))
        else:
            counts.append(math.ceil(scale * cases_for_equivalence(mean.spread, margin, min(value, margin * 0.9))))
    needed = max(max(counts), cases + 1)
    return needed if needed <= MOST_CASES else None


def _conclusion(
    results: Sequence[GateResult], cases: int, trials: tuple[float, float]
) -> tuple[Conclusion, str, int | None]:
    """Return the verdict, its reason, and the cases that would settle it."""
    different = [result.gate.name for result in results if result.finding == "different"]
    unsettled = [result for result in results if result.finding == "inconclusive"]
    open_ended = any(result.needed is None for result in unsettled)
    needed = None if open_ended else max((result.needed for result in unsettled if result.needed), default=None)
    if cases < FEWEST:
        least = fewest_cases(min(result.gate.distance_margin or result.gate.margin for result in results))
        needed = max(needed or 0, least)
        return "inconclusive", f"{cases} cases are too few for a verdict; about {needed:,} would do", needed
    if different:
        return "different", f"it differs from the baseline in {', '.join(different)}", None
    if unsettled:
        return "inconclusive", _open_reason(unsettled, cases, trials, needed), needed
    few = ", ".join(result.gate.name for result in results if result.finding == "too few cases")
    if few:
        return (
            "equivalent",
            f"every gate with {FEWEST} cases or more is shown to be within its margin; not judged: {few}",
            None,
        )
    return "equivalent", "every gate is shown to be within its margin", None


def _open_reason(results: Sequence[GateResult], cases: int, trials: tuple[float, float], needed: int | None) -> str:
    single = [side for side, count in zip(("baseline", "vendor"), trials, strict=True) if count < 2]
    if single:
        sides = " and ".join(f"the {side}" for side in single)
        return f"{sides} has one trial per case that counts, so its own spread is unknown; repeat it with --trials 5"
    names = ", ".join(_open_name(result, cases) for result in results)
    close = ", ".join(result.gate.name for result in results if result.needed is None)
    if close:
        return f"not settled: {names}; {close} is about as far off as its margin, which no number of cases would settle"
    more = f"; about {needed:,} cases with as many trials would do" if needed else ""
    rare = any(map(_is_rare, results))
    fewer = f", or fewer in which each of these gates has {FEWEST} cases or more" if needed and rare else ""
    return f"not settled: {names}{more}{fewer}"


def _open_name(result: GateResult, cases: int) -> str:
    """Return the name of a gate that is not settled, and a note if it has too few cases."""
    if result.excess is None or not _is_rare(result):
        return result.gate.name
    return f"{result.gate.name} (too few cases: {result.excess.n} of {cases:,} have what it compares)"


def _is_rare(result: GateResult) -> bool:
    return result.excess is not None and result.excess.n < FEWEST


def _whole(samples: Samples, results: Sequence[GateResult], options: PanelOptions) -> float | None:
    """Return the p-value of all gates together.

    The smaller, doubled, of that of the share of subjects in which two answers differ, which sees small differences in
    many of them, and of the corrected ones of single gates, which see a large one in one.
    """
    found = _compare_at(WHOLE, samples, options, len(GATES))
    if found.excess is None:
        return None
    return min(1.0, 2 * min(found.p, *(result.p_holm for result in results)))


def _mean(values: Any) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None
