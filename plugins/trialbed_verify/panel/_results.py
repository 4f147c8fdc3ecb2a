"""The findings at the gates, the verdict that follows from them, and the sentences that give it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal

from trialbed.statistics import wilson_interval
from trialbed_verify.panel._bounds import ALPHA, FEWEST, Mean, fewest_cases
from trialbed_verify.panel._examples import GateExample
from trialbed_verify.panel._gates import BILLED, PanelGate

Conclusion = Literal["equivalent", "different", "inconclusive"]
GateFinding = Literal["equivalent", "different", "inconclusive", "not judged", "too few cases", "not applicable"]

OF_REQUESTS = {"any", "availability"}
"""Gates that apply to requests without an answer too."""

SEVERAL = 1.5
"""Mean trials per case from which on most cases have several."""

NARROW = 0.002
"""Width of an interval of costs below which they are given with two decimals of a percent."""


@dataclass(frozen=True)
class GateResult:
    """One gate's comparison.

    Attributes:
        excess: how much more the vendor differs from the baseline than the baseline from itself; None if the gate does
            not apply to any case.
        distance: between the two distributions; None where only more counts, or where a side has one trial per case.
        baseline, vendor: the mean distance of two trials of the baseline, and of one of each side; for faults, the
            shares of the baseline's and of the vendor's answers; over the cases of the excess, so that it is the second
            less the first.
        p, p_holm: of the permutation test, and corrected for all gates.
        needed: cases that would settle an inconclusive gate; None if no number would.
        example: an answer of each side.
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

    def as_json(self) -> dict[str, Any]:
        """Return one JSON object."""
        gate, excess, distance = self.gate, self.excess, self.distance
        found: dict[str, Any] = {"gate": gate.name, "meaning": gate.meaning}
        found |= {name: getattr(self, name) for name in ("finding", "reason", "baseline", "vendor")}
        found["excess"] = excess and excess.as_json(directed=gate.is_directed)
        found |= {"excess_margin": gate.margin, "distance": distance and distance.as_json()}
        found |= {"distance_margin": gate.distance_margin, "p": self.p, "p_holm": self.p_holm}
        return found | {"needed_cases": self.needed, "example": self.example and self.example.as_json()}


@dataclass(frozen=True)
class Panel:
    """The verdict on a vendor.

    Attributes:
        gates: all of them, in the order of reports.
        whole: the p-value of the permutation test of all gates together.
        trials: the mean number of trials per case that count, of the baseline and of the vendor.
        needed: cases that would settle an inconclusive verdict; None if none is needed, or if no number would.
        other_models: a sentence if the sides ask for different models; it comes first among the reasons.
        remarks: sentences about the trials themselves, such as that some are copies.
        deals: of the trials' labels, where a p-value is smallest.
        copies: side -> counts of copied trials.
        price: of an answer of the vendor, as a share of the baseline's; None if prices or tokens are not known.
    """

    finding: Conclusion
    gates: tuple[GateResult, ...]
    whole: float | None
    cases: int
    trials: tuple[float, float]
    needed: int | None = None
    other_models: str = ""
    remarks: tuple[str, ...] = ()
    deals: int = 0
    seed: int = 0
    copies: Mapping[str, Any] = field(default_factory=dict)
    price: float | None = None

    @property
    def reason(self) -> str:
        """Return the reasons in one sentence, with the gates by their labels."""
        return "; ".join(self.reasons(attrgetter("label")))

    def reasons(self, named: Callable[[PanelGate], str]) -> list[str]:
        """Return the clauses of the sentence that gives the verdict.

        Args:
            named: names a gate.
        """
        return [*filter(None, [self.other_models]), *_reasons(self, named)]

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
        """Return the names of the gates at which the vendor differs."""
        return [result.gate.name for result in self.found("different")]

    def as_json(self) -> dict[str, Any]:
        """Return one JSON object."""
        trials = dict(zip(("baseline", "vendor"), self.trials, strict=True))
        found: dict[str, Any] = {"finding": self.finding, "reason": self.reason, "different": self.different}
        found |= {"cases": self.cases, "trials": trials, "p_whole": self.whole, "alpha": ALPHA}
        found |= {"permutations": self.deals, "seed": self.seed, "needed_cases": self.needed}
        found |= {"price_ratio": self.price, "remarks": list(self.remarks), "trial_copies": dict(self.copies)}
        return found | {"gates": [result.as_json() for result in self.gates]}


def conclude(results: Sequence[GateResult], whole: float | None, cases: int) -> tuple[Conclusion, int | None]:
    """Return the verdict, and the cases that would settle an open one; None if no number would.

    Args:
        whole: the p-value of all gates together.
    """
    findings = {result.gate.name: result.finding for result in results if result.finding != "not applicable"}
    counts = [result.needed for result in results if result.finding == "inconclusive"]
    needed = max((count or 0 for count in counts), default=0) if all(counts) else None
    if cases < FEWEST:
        least = fewest_cases(min(result.gate.distance_margin or result.gate.margin for result in results))
        return "inconclusive", None if "not judged" in findings.values() else max(needed or 0, least)
    if "different" in findings.values():
        return "different", None
    if findings.keys() <= OF_REQUESTS or "not judged" in findings.values():
        return "inconclusive", None
    if counts:
        return "inconclusive", needed
    return "inconclusive" if whole is not None and whole <= ALPHA else "equivalent", None


def _reasons(panel: Panel, named: Callable[[PanelGate], str]) -> Iterator[str]:
    """Yield the damage and the cost, and why the verdict is what it is."""

    def names(results: Sequence[GateResult]) -> str:
        return ", ".join(named(result.gate) for result in results)

    if panel.cases < FEWEST:
        yield f"{panel.cases} cases are too few for a verdict"
        yield from [f"about {panel.needed:,} would do"] if panel.needed else _one_trial(panel)
        return
    if leading := [*_damage(panel), *_cost(panel)]:
        yield ", and ".join(leading)
    unsettled = panel.found("inconclusive")
    if panel.finding == "different":
        apart = panel.found("different")
        yield f"it differs from the baseline in {names(apart)}"
        yield from (one.reason for one in apart if one.differing and one.distance)
    elif panel.finding == "equivalent":
        few = ", ".join(
            f"{named(one.gate)} ({one.excess.n} cases)" for one in panel.found("too few cases") if one.excess
        )
        yield f"every gate{' with enough cases' * bool(few)} is shown to be within its margin"
        yield from [f"not judged: {few}"] if few else []
    elif {result.gate.name for result in panel.applicable} <= OF_REQUESTS:
        yield "no case has an answer of both sides, so there is nothing to compare"
    elif panel.found("not judged"):
        yield from _one_trial(panel)
    elif unsettled:
        bounds = [
            (one.excess.at_most(directed=one.gate.is_directed), named(one.gate))
            for one in panel.gates
            if one.excess and not one.is_rare
        ]
        yield from (f"no gate is off by more than {most:.2g} ({name})" for most, name in sorted(bounds)[-1:])
        yield f"not settled: {', '.join(_open_name(one, panel.cases, named) for one in unsettled)}"
        if close := [one for one in unsettled if one.needed is None]:
            yield f"{names(close)} is about as far off as its margin, which no number of cases would settle"
        else:
            rare = any(one.is_rare for one in unsettled)
            fewer = f", or fewer in which each of these gates has {FEWEST} cases or more" if rare else ""
            yield f"about {panel.needed:,} cases with as many trials would do{fewer}"
    else:
        shown = names([one for one in panel.gates if one.excess and one.p_holm <= ALPHA])
        where = f", in {shown}" if shown else ""
        same = f"together they show that it is not the same{where} (p = {panel.whole:.2g})"
        yield f"every gate is within its margin, but {same}"


def _open_name(result: GateResult, cases: int, named: Callable[[PanelGate], str]) -> str:
    """Return the name of a gate that is not settled, and a note if it has too few cases."""
    few = f" (too few cases: {result.excess.n} of {cases:,} have what it compares)" if result.excess else ""
    return named(result.gate) + few * result.is_rare


def _damage(panel: Panel) -> Iterator[str]:
    if (found := panel.at("any")) and found.excess:
        share = breaking_in_thousand(found.excess)
        yield f"of 1,000 of its answers {share} would break a caller, beyond the baseline's own spread"


def breaking_in_thousand(excess: Mean) -> str:
    """Return how many of 1,000 answers break a caller, with the interval; the most that may, where none is shown to."""
    if excess.low <= 0:
        return f"at most {max(1, round(1000 * excess.at_most(directed=True)))}"
    value, low, high = (round(1000 * share) for share in (excess.value, excess.low, excess.high))
    return f"{value} [{low}, {high}]"


def _cost(panel: Panel) -> Iterator[str]:
    found = panel.at("bill")
    if not found or not found.excess:
        return
    low, value, high = (100 * figure for figure in (found.excess.low, found.excess.value, found.excess.high))
    digits = 2 if found.excess.high - found.excess.low < NARROW else 1
    bill = f"the same within {max(high, -low):.{digits}f} %"
    if not low <= 0 <= high:
        least, most = sorted(map(abs, (low, high)))
        higher = "higher" if value > 0 else "lower"
        bill = f"{abs(value):.{digits}f} % [{least:.{digits}f}, {most:.{digits}f}] {higher}"
    bill = f"its bill is {bill} {BILLED}"
    if (price := panel.price) is not None:
        share = round(abs(100 * (price - 1)))
        cost = f"is {share} % {'cheaper' if price < 1 else 'dearer'}" if share else "costs the same"
        bill = f"an answer {cost} at your prices ({bill})"
    yield bill


def _one_trial(panel: Panel) -> Iterator[str]:
    """Yield what one trial per case shows, and what it does not."""
    shown = [(one, *one.differing) for one in panel.gates if one.differing and one.differing[1]]
    apart = [(one, count, cases) for one, count, cases in shown if count]
    if apart:
        least = min((one for one, *_ in apart), key=lambda one: one.p)
        yield ", ".join(
            f"{one.gate.trait} differ in {count:,} of {cases:,} cases ({_percent(count, cases)})"
            for one, count, cases in apart
        )
        yield f"p = {least.p:.2g} for {least.gate.trait}, {least.p_holm:.2g} after correction"
    elif shown:
        yield f"{', '.join(one.gate.trait for one, *_ in shown)} agree in every case"
    if panel.trials[0] < SEVERAL:
        more = " with more cases" * (panel.cases < FEWEST)
        yield f"how much the baseline differs from itself is not known: run it twice{more} to decide"
    elif panel.trials[1] < SEVERAL:
        yield "not shown to differ; one trial of the vendor does not show its own spread: --trials 3"
    else:
        yield "not shown to differ; too many cases have one trial of a side, which does not show its own spread"


def _percent(count: int, cases: int) -> str:
    low, high, _ = wilson_interval(count / cases, cases)
    return f"{100 * count / cases:.0f} % [{100 * low:.0f}, {100 * high:.0f}]"
