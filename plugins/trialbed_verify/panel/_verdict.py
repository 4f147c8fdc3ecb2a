"""Decide on a vendor from the findings at all gates, with the reasons in words."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from trialbed.statistics import holm, wilson_interval
from trialbed.wire.dialects.chat_completions import answered_calls
from trialbed_verify.findings import findings, function_of, kind_in_words, objects_of
from trialbed_verify.panel._answers import BITS, Measures, PanelGate
from trialbed_verify.panel._distances import (
    ALPHA,
    MOST,
    Compared,
    Distances,
    Mean,
    Z,
    compare_gates,
    fewest_cases,
    with_means,
)
from trialbed_verify.panel._trials import Trials, prepare_trials, price_ratio
from trialbed_verify.rows import answer_in, object_in, one_line

Conclusion = Literal["equivalent", "different", "inconclusive"]
GateFinding = Literal["equivalent", "different", "inconclusive", "not judged", "too few cases", "not applicable"]

FEWEST = 30
"""Fewest cases for a verdict."""

ONE_TRIAL = "one trial per case does not show a side's own spread"

OF_REQUESTS = {"breaking", "availability"}
"""Gates that apply to requests without an answer too."""

SEVERAL = 1.5
"""Mean trials per case above which most cases have several."""

NARROW = 0.002
"""Narrower intervals of costs are shown with two decimals of a percent."""

OF_TOKENS = ("tokens", "usage", "bill", "prompt-tokens")
"""Gates whose examples show the tokens."""

SHOWN = 160
"""Characters of an answer's text or arguments."""


@dataclass(frozen=True)
class PanelOptions:
    """Options of the panel.

    Attributes:
        margins: gate -> its margin, if not the default; choose them before looking at the results.
        permutations: of the trials' labels; ten times as many if few of them are as unusual as the answers.
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
class GateExample:
    """An answer of each side to one request, in words and with its row; ``line`` is the test set's, if known."""

    line: int | None
    baseline: str
    vendor: str
    baseline_row: Measures
    vendor_row: Measures

    def as_json(self) -> dict[str, Any]:
        """Return one JSON object, with the places of both rows."""
        rows = {"baseline_row": self.baseline_row, "vendor_row": self.vendor_row}
        return vars(self) | {name: one.source.describe(one.place) for name, one in rows.items()}


@dataclass(frozen=True)
class GateResult:
    """One gate's comparison.

    Attributes:
        excess: how much more the vendor differs from the baseline than the baseline from itself; None if the gate does
            not apply to any case.
        distance: between the two distributions; None for a directed gate, or if a side has one trial per case.
        baseline, vendor: the mean distance of two trials of the baseline, and of one of each side; for faults, the
            shares of the baseline's and of the vendor's answers; over the cases of the excess, which is the second
            minus the first.
        p, p_holm: of the permutation test, and corrected for all gates.
        needed: cases that would settle an inconclusive gate; None if more cases would not help.
        differing: cases in which the sides' only trials differ, and cases compared; None with several trials.
    """

    gate: PanelGate
    finding: GateFinding
    reason: str
    excess: Mean | None = None
    distance: Mean | None = None
    baseline: float | None = None
    vendor: float | None = None
    p: float = 1.0
    p_holm: float = 1.0
    needed: int | None = None
    example: GateExample | None = None
    differing: tuple[int, int] | None = None

    @property
    def is_rare(self) -> bool:
        """Return whether it applies to too few cases to be judged."""
        return self.excess is not None and self.excess.n < FEWEST

    @property
    def decisive_figure(self) -> tuple[Mean | None, float]:
        """Return the excess or the distance, depending on which is larger relative to its margin, and this margin."""
        figures = ((self.excess, self.gate.margin), (self.distance, self.gate.distance_margin))
        known = [(mean, margin) for mean, margin in figures if mean and margin]
        return max(known, key=lambda one: one[0].at_most / one[1], default=(None, self.gate.margin))

    def as_json(self) -> dict[str, Any]:
        """Return one JSON object."""
        found: dict[str, Any] = {"gate": self.gate.name, "meaning": self.gate.meaning}
        found |= {name: getattr(self, name) for name in ("finding", "reason", "baseline", "vendor", "excess")}
        found |= {"excess_margin": self.gate.margin, "distance": self.distance}
        found |= {"distance_margin": self.gate.distance_margin, "p": self.p, "p_holm": self.p_holm}
        return found | {"needed_cases": self.needed, "example": self.example}


@dataclass(frozen=True)
class Panel:
    """The verdict on a vendor.

    Attributes:
        gates: all gates, in report order.
        whole: the p-value of the joint permutation test.
        trials: the mean number of trials per case that count, of the baseline and of the vendor.
        remarks: sentences about the trials themselves, such as that some are copies.
        deals: number of label permutations for the smallest p-value.
        price: the cost of a vendor's answer relative to the baseline's; None if prices or tokens are unknown.
    """

    gates: tuple[GateResult, ...]
    whole: float | None
    cases: int
    trials: tuple[float, ...] = (0.0, 0.0)
    options: PanelOptions = field(default_factory=PanelOptions)
    remarks: tuple[str, ...] = ()
    deals: int = 0
    price: float | None = None

    @cached_property
    def _conclusion(self) -> tuple[Conclusion, int | None, list[str]]:
        return _conclude(self, attrgetter("name"))

    @property
    def finding(self) -> Conclusion:
        """Return the verdict."""
        return self._conclusion[0]

    @property
    def needed(self) -> int | None:
        """Return the cases that would settle an inconclusive verdict; None if no number would."""
        return self._conclusion[1]

    @property
    def reason(self) -> str:
        """Return the reasons in one sentence, with the gates by their names."""
        return "; ".join(self.reasons(attrgetter("name")))

    def reasons(self, named: Callable[[PanelGate], str]) -> list[str]:
        """Return the clauses of the sentence that gives the verdict; ``named`` names a gate."""
        return [*filter(None, [self.options.other_models]), *_conclude(self, named)[2]]

    @property
    def verdict(self) -> str:
        """Return the finding as people read it."""
        is_open = self.finding == "inconclusive" and self.found("not judged")
        return "not decided by one trial" if is_open else self.finding

    def found(self, finding: GateFinding) -> list[GateResult]:
        """Return the gates with this finding."""
        return [result for result in self.gates if result.finding == finding]

    def at(self, gate: str) -> GateResult | None:
        """Return the result at a gate; None if it does not apply to any case."""
        return next((result for result in self.applicable if result.gate.name == gate), None)

    @property
    def applicable(self) -> list[GateResult]:
        """Return the gates that apply to any case."""
        return [result for result in self.gates if result.finding != "not applicable"]

    @property
    def different(self) -> list[str]:
        """Return the names of the gates with a difference."""
        return [result.gate.name for result in self.found("different")]

    def as_json(self) -> dict[str, Any]:
        """Return one JSON object."""
        found = {name: getattr(self, name) for name in ("finding", "reason", "different", "cases")}
        found |= {"trials": dict(zip(("baseline", "vendor"), self.trials, strict=True)), "p_whole": self.whole}
        found |= {"alpha": ALPHA, "permutations": self.deals, "seed": self.options.seed, "needed_cases": self.needed}
        return found | {"price_ratio": self.price, "remarks": self.remarks, "gates": self.gates}


def judge(sides: Sequence[Trials], options: PanelOptions | None = None) -> Panel:
    """Compare a vendor with a baseline on every gate, by the measures of both sides' trials of each case."""
    chosen = options or PanelOptions()
    kept, remarks = prepare_trials(sides, BITS["model"] if chosen.other_models else 0)
    compared = compare_gates(kept, chosen.margins, chosen.permutations, chosen.seed)
    results, whole = _settle(compared, len(kept))
    for place, (one, result) in enumerate(zip(compared, results, strict=False)):
        if result.finding == "different":
            results[place] = replace(result, example=_example(one, kept))
        if chosen.other_models and one.gate.name == "model":
            results[place] = GateResult(one.gate, "not applicable", chosen.other_models)
    trials = tuple(sum(len(pair[side]) for pair in kept) / max(1, len(kept)) for side in (0, 1))
    deals, price = max(one.distances.dealt.shape[1] for one in compared), price_ratio(sides, chosen.prices)
    return Panel(tuple(results), whole, len(kept), trials, chosen, tuple(remarks), deals, price)


def resample_verdict(
    sides: Sequence[Trials], sizes: Sequence[int], *, draws: int = 100
) -> dict[int, dict[Conclusion, float]]:
    """Return, for numbers of cases, the share of resamples with each verdict.

    Cases are drawn with replacement. The sums over dealt trials, with a mean of 0, are scaled to the number of cases. A
    difference that may be chance counts as 0, as in the estimate of the cases needed. Otherwise, resampling more cases
    would turn chance into a difference.
    """
    kept, _ = prepare_trials(sides)
    options, random = PanelOptions(), np.random.default_rng(0)
    compared = compare_gates(kept, options.margins, options.permutations, options.seed)
    figures = [(one.gate, _without_chance(one)) for one in compared]

    def draw(cases: int) -> Conclusion:
        places = random.integers(0, len(kept), cases)
        results, whole = _settle([with_means(gate, own.at(places)) for gate, own in figures], cases)
        return Panel(tuple(results), whole, cases).finding

    counts = {cases: Counter(draw(cases) for _ in range(draws)) for cases in sizes}
    return {cases: {finding: count / draws for finding, count in own.items()} for cases, own in counts.items()}


def _without_chance(one: Compared) -> Distances:
    """Return a gate's distances, moved to a mean of 0 if theirs may be chance."""
    found, moved = one.distances, {"excess": "cross", "distance": "distance"}
    for name, mean, margin in one.figures if found.traits is None else ():
        if mean.may_be_chance(margin):
            found = replace(found, **{moved[name]: getattr(found, moved[name]) - mean.value})
    return found


def _settle(compared: Sequence[Compared], cases: int) -> tuple[list[GateResult], float | None]:
    """Return the findings at all gates but the last one, and the joint p-value; None without cases.

    The joint p-value is twice the smaller of two: the test of the share of differing subjects, which detects small
    differences in many subjects, and the corrected test of single gates, which detects a large difference in one.
    """
    *gates, whole = compared
    corrected = holm({one.gate.name: one.p for one in gates if one.excess is not None})
    results = [settle(one, corrected.get(one.gate.name, 1.0), cases) for one in gates]
    # A constant moves the bill in every case; what it is worth is said beside the verdict.
    single = [result.p_holm for result in results if result.gate.name != "bill"]
    return results, None if whole.excess is None else min(1.0, 2 * min(whole.p, *single))


def settle(one: Compared, p_holm: float, cases: int) -> GateResult:
    """Return the finding at a gate of a comparison of so many cases."""
    gate, found, excess, distance = one.gate, one.distances, one.excess, one.distance
    if excess is None and not found.is_single():
        return GateResult(gate, "not applicable", "no case has what it compares on both sides")
    if excess is None:
        return GateResult(gate, "not judged", ONE_TRIAL)
    known = np.isfinite(found.excess)
    baseline, vendor = float(found.own[known].mean()), float(found.cross[known].mean())
    figures = (excess, distance, baseline, vendor, one.p, p_holm)
    if found.traits is None:
        finding, reason = _finding(one, excess, p_holm)
        is_open = finding == "inconclusive" and reason != ONE_TRIAL
        return GateResult(gate, finding, reason, *figures, _cases_needed(one, excess, cases) if is_open else None)
    pairs = [pair for pair in found.traits if pair]
    apart, of = sum(own != other for own, other in pairs), len(pairs)
    size, margin = (abs(excess.value), gate.margin) if distance is None else (distance.value, gate.distance_margin or 0)
    if p_holm > ALPHA or size <= margin:
        return GateResult(gate, "not judged", ONE_TRIAL, p=one.p, p_holm=p_holm, differing=(apart, of))
    ours, theirs = (int((found.excess == sign).sum()) for sign in (-1, 1))
    reason = f"p = {one.p:.2g}: {ours} {gate.having} at the baseline only, {theirs} at the vendor only"
    if distance is not None:
        chance = f"more than chance alone could explain (p = {one.p:.2g})"
        reason = f"{gate.trait} differ in {apart:,} of {of:,} cases, {chance}"
    return GateResult(gate, "different", reason, *figures, differing=(apart, of))


def _finding(one: Compared, excess: Mean, p_holm: float) -> tuple[GateFinding, str]:
    gate, figures = one.gate, one.figures
    beyond = [name for name, mean, margin in figures if mean.is_beyond(margin)]
    if beyond and p_holm <= ALPHA:
        return "different", f"its {beyond[0]} is shown to exceed the margin"
    seems = any((mean.value if mean.directed else abs(mean.value)) > margin for _, mean, margin in figures)
    if one.distances.is_single():
        return "not judged", ONE_TRIAL
    if excess.n < (max(FEWEST, math.ceil(Z * Z / gate.margin) + 1) if gate.stands_alone else FEWEST):
        if not seems:
            return "too few cases", f"{excess.n} cases have what it compares, too few to judge"
        return "inconclusive", f"beyond the margin in the {excess.n} cases that have it, too few to judge"
    # Without the distance, a side's own spread is not known.
    known = gate.is_directed or len(figures) > 1
    within = known and all(mean.at_most < margin for _, mean, margin in figures)
    is_shown = any(mean.low > 0 or (not mean.directed and mean.high < 0) for _, mean, _ in figures)
    if within and not (seems and excess.n < excess.counted and is_shown):
        return "equivalent", "shown to be within the margin"
    return "inconclusive", "not shown to be within the margin or beyond it" if known else ONE_TRIAL


def _cases_needed(one: Compared, excess: Mean, cases: int) -> int | None:
    """Return the cases that would settle the gate, if the figures seen are right; None if more would not help."""
    least = fewest_cases(one.gate.distance_margin or one.gate.margin)
    if excess.n < FEWEST:
        # The spread of so few cases says nothing about that of more.
        return max(least, math.ceil(cases * FEWEST / excess.n), cases + 1)
    counts = [math.ceil(cases / mean.counted * mean.cases_needed(margin)) for _, mean, margin in one.figures]
    needed = max(least, cases + 1, *counts)
    return needed if needed <= MOST else None


def _conclude(panel: Panel, named: Callable[[PanelGate], str]) -> tuple[Conclusion, int | None, list[str]]:
    """Return the verdict, the cases that would settle an open one, if any would, and the damage, cost and reasons."""

    def names(results: Sequence[GateResult]) -> str:
        rare = [one for one in results if one.is_rare or one.finding == "too few cases"]
        few = {one.gate: f" ({one.excess.n} cases)" for one in rare if one.excess}
        return ", ".join(named(one.gate) + few.get(one.gate, "") for one in results)

    unsettled, few, is_open = panel.found("inconclusive"), panel.found("too few cases"), panel.found("not judged")
    close = [one for one in unsettled if one.needed is None]
    needed = None if close else max((one.needed or 0 for one in unsettled), default=0)
    if panel.cases < FEWEST:
        least = fewest_cases(min(one.gate.distance_margin or one.gate.margin for one in panel.gates))
        needed = None if is_open else max(needed or 0, least)
        more = [f"about {needed:,} would do"] if needed else _one_trial(panel)
        return "inconclusive", needed, [f"{panel.cases} cases are too few for a verdict", *more]
    damage = [*_damage(panel), *_cost(panel)]
    said = [", and ".join(damage)] if damage else []
    if apart := panel.found("different"):
        explained = [one.reason for one in apart if one.differing and one.distance]
        return "different", None, [*said, f"it differs from the baseline in {names(apart)}", *explained]
    if {result.gate.name for result in panel.applicable} <= OF_REQUESTS:
        return "inconclusive", None, [*said, "no case has an answer of both sides, so there is nothing to compare"]
    if is_open:
        return "inconclusive", None, [*said, *_one_trial(panel)]
    if unsettled:
        bounds = [(one.excess.at_most, named(one.gate)) for one in panel.gates if one.excess and not one.is_rare]
        said += [f"no gate is off by more than {most:.2g} ({name})" for most, name in sorted(bounds)[-1:]]
        endless = f"{names(close)} is about as far off as its margin, which no number of cases would settle"
        enough = endless if close else f"about {needed:,} cases with as many trials would do"
        return "inconclusive", needed, [*said, f"not settled: {names(unsettled)}", enough]
    if panel.whole is not None and panel.whole <= ALPHA:
        shown = names([one for one in panel.gates if one.excess and one.p_holm <= ALPHA])
        same = f"together they show that it is not the same{', in ' * bool(shown)}{shown} (p = {panel.whole:.2g})"
        return "inconclusive", None, [*said, f"every gate is within its margin, but {same}"]
    within = f"every gate{' with enough cases' * bool(few)} is shown to be within its margin"
    return "equivalent", None, [*said, within, *([f"not judged: {names(few)}"] if few else [])]


def _damage(panel: Panel) -> Iterator[str]:
    if (found := panel.at("breaking")) and found.excess:
        share = breaking_in_thousand(found.excess)
        yield f"of 1,000 of its answers {share} would break a caller, beyond the baseline's own spread"


def breaking_in_thousand(excess: Mean) -> str:
    """Return how many of 1,000 answers break a caller with the interval; only an upper bound if it may be 0."""
    if excess.low <= 0:
        return f"at most {max(1, round(1000 * excess.at_most))}"
    value, low, high = (round(1000 * share) for share in (excess.value, excess.low, excess.high))
    return f"{value} [{low}, {high}]"


def _cost(panel: Panel) -> Iterator[str]:
    found = panel.at("bill")
    if not found or not found.excess:
        return
    low, value, high = (100 * figure for figure in (found.excess.low, found.excess.value, found.excess.high))
    digits = 2 if found.excess.high - found.excess.low < NARROW else 1
    bill = f"it uses the same tokens within {max(high, -low):.{digits}f} %"
    if not low <= 0 <= high:
        least, most = sorted(map(abs, (low, high)))
        more = f"{abs(value):.{digits}f} % [{least:.{digits}f}, {most:.{digits}f}] {'more' if value > 0 else 'fewer'}"
        bill = f"it uses {more} tokens"
    bill += " (one completion token counted as four prompt tokens)"
    if (price := panel.price) is not None:
        share = round(abs(100 * (price - 1)))
        cost = f"is {share} % {'cheaper' if price < 1 else 'dearer'}" if share else "costs the same"
        bill += f"; at your prices an answer {cost}"
    yield bill


def _one_trial(panel: Panel) -> Iterator[str]:
    """Yield the differences that one trial per case shows, and the limits of such a comparison."""
    shown = [(one, *one.differing) for one in panel.gates if one.differing and one.differing[1]]
    if shown:
        yield ", ".join(f"{one.gate.trait} differ in {count:,} of {_percent(count, of)}" for one, count, of in shown)
    if apart := [one for one, count, _ in shown if count]:
        least = min(apart, key=attrgetter("p"))
        yield f"p = {least.p:.2g} for {least.gate.trait}, {least.p_holm:.2g} after correction"
    if panel.trials[0] < SEVERAL:
        more = " with more cases" * (panel.cases < FEWEST)
        yield f"how much the baseline differs from itself is not known: run it twice{more} to decide"
    else:
        yield "not shown to differ; one trial of a side does not show its own spread in too many cases: --trials 3"


def _percent(count: int, cases: int) -> str:
    low, high, _ = wilson_interval(count / cases, cases)
    return f"{cases:,} cases ({100 * count / cases:.0f} % [{100 * low:.0f}, {100 * high:.0f}])"


def _example(one: Compared, sides: Sequence[Trials]) -> GateExample | None:
    """Return an answer of each side from the case with the largest difference."""
    gate, excess = one.gate, one.distances.excess
    farthest = excess if gate.is_directed else np.abs(excess) + np.nan_to_num(one.distances.distance)
    ours, theirs = (
        [(trial, value) for trial in side if (value := gate.value(trial)) is not None]
        for side in sides[int(np.argmax(np.nan_to_num(farthest, nan=-1.0)))]
    )
    if not ours or not theirs:
        return None
    usual = [value for _, value in ours]

    def apart(pair: tuple[Any, Any]) -> Any:
        (_, value), (_, own) = pair
        return value - own if gate.scale == "fault" else (value not in usual, value != own)

    (vendor, _), (baseline, _) = max(product(theirs, ours), key=apart)
    rows = baseline.read(), vendor.read()
    line = rows[1].get("data_index") or rows[0].get("data_index")
    own, other = (_describe(row, gate.name) for row in rows)
    return GateExample(line, own, other, baseline, vendor)


def _describe(row: Mapping[str, Any], gate: str) -> str:
    response, parts = object_in(row, "response"), list[str]()
    message = answer_in(response)[1]
    text = message.get("content")
    if row.get("status") != "success":
        kind = object_in(row, "problem").get("kind") or row.get("outcome") or "failed"
        parts.append(f"no answer: {kind_in_words(str(kind))}")
    functions = [function_of(call) or call for call in objects_of(answered_calls(message))]
    parts += [f"{function.get('name')}({_short(function.get('arguments'))})" for function in functions]
    parts += [f"text {_short(text or '')!r}"] if text or not parts else []
    counted = {key: value for key, value in object_in(response, "usage").items() if isinstance(value, int)}
    more = dict.fromkeys(OF_TOKENS, f"usage {json.dumps(counted)}")
    more |= {"finish": f"finish reason {row.get('finish_reason')}", "model": f"model {response.get('model')}"}
    said = [one.message for one in findings(row) if one.gate == gate.removesuffix("-leaks")]
    return "; ".join([*parts, *([more[gate]] if gate in more else []), *said[:2]])


def _short(value: Any) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), SHOWN)
