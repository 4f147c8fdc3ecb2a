"""The verdict on a vendor, from the findings at all gates, and the sentence that gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from trialbed.statistics import wilson_interval
from trialbed_verify.panel._bounds import ALPHA, FEWEST, Mean, fewest_cases
from trialbed_verify.panel._gates import PanelGate
from trialbed_verify.panel._results import Conclusion, GateResult, Panel
from trialbed_verify.panel._single import SHOWN_BY

OF_REQUESTS = frozenset(("any", "availability"))
"""Gates that apply to requests without an answer too."""

Named = Callable[[PanelGate], str]

SEVERAL = 1.5
"""Mean trials per case from which on most cases have several."""

NARROW = 0.002
"""Width of an interval of costs below which they are given with two decimals of a percent."""


class PanelVerdict(NamedTuple):
    """The verdict, its reason, and the cases that would settle it; None if none is needed, or if no number would."""

    finding: Conclusion
    reason: str
    needed: int | None = None


def gate_meaning(gate: PanelGate) -> str:
    """Return the subject of a gate in words."""
    return gate.meaning


def reason_in_words(panel: Panel) -> str:
    """Return the reason of a verdict with the subjects of gates in place of their names, as pages give it."""
    return conclude(panel.gates, panel.cases, panel.trials, panel.whole, panel.price, gate_meaning).reason


def conclude(
    results: Sequence[GateResult],
    cases: int,
    trials: tuple[float, float],
    whole: float | None,
    price: float | None = None,
    named: Named = attrgetter("label"),
) -> PanelVerdict:
    """Return the verdict; its reason begins with the damage and the cost.

    Args:
        trials: the mean numbers of trials per case, of the baseline and of the vendor.
        whole: the p-value of all gates together.
        price: the vendor's price of an answer as a share of the baseline's.
        named: names a gate.
    """
    found = _conclusion(results, cases, trials, whole, named)
    damage = list(_damage(results))
    leading = ", and ".join([*damage, *_cost(results, price, "they" if damage else "its answers")])
    return found if cases < FEWEST or not leading else found._replace(reason=f"{leading}; {found.reason}")


def _damage(results: Sequence[GateResult]) -> Iterator[str]:
    excess = _excess(results, "any")
    if excess is None:
        return
    share = breaking_in_thousand(excess)
    yield f"of 1,000 of its answers {share} would break a caller, beyond the baseline's own spread"


def breaking_in_thousand(excess: Mean) -> str:
    """Return how many of 1,000 answers break a caller, with the interval; the most that may, where none is shown to."""
    if excess.low <= 0:
        return f"at most {max(1, round(1000 * excess.at_most(directed=True)))}"
    value, low, high = (round(1000 * share) for share in (excess.value, excess.low, excess.high))
    return f"{value} [{low}, {high}]"


def _cost(results: Sequence[GateResult], price: float | None, answers: str) -> Iterator[str]:
    excess = _excess(results, "bill")
    if excess is None:
        return
    digits = 2 if excess.high - excess.low < NARROW else 1
    if excess.low <= 0 <= excess.high:
        most = f"{100 * max(excess.high, -excess.low):.{digits}f} %"
        yield f"{answers} use the same tokens within {most}{_at_prices(price)}"
        return
    low, high = sorted(abs(100 * end) for end in (excess.low, excess.high))
    more = "more" if excess.value > 0 else "fewer"
    ends = f"[{low:.{digits}f}, {high:.{digits}f}]"
    yield f"{answers} use {abs(100 * excess.value):.{digits}f} % {ends} {more} tokens{_at_prices(price)}"


def _at_prices(ratio: float | None) -> str:
    if ratio is None:
        return ""
    share = round(abs(100 * (ratio - 1)))
    words = f"{share} % {'cheaper' if ratio < 1 else 'dearer'}" if share else "at the same cost"
    return f", {words} at your prices"


def _excess(results: Sequence[GateResult], gate: str) -> Mean | None:
    return next((result.excess for result in results if result.gate.name == gate), None)


def _conclusion(
    results: Sequence[GateResult], cases: int, trials: tuple[float, float], whole: float | None, named: Named
) -> PanelVerdict:
    different = [named(result.gate) for result in results if result.finding == "different"]
    unsettled = [result for result in results if result.finding == "inconclusive"]
    open_ended = any(result.needed is None for result in unsettled)
    needed = None if open_ended else max((result.needed for result in unsettled if result.needed), default=None)
    if cases < FEWEST:
        least = fewest_cases(min(result.gate.distance_margin or result.gate.margin for result in results))
        needed = max(needed or 0, least)
        return PanelVerdict(
            "inconclusive", f"{cases} cases are too few for a verdict; about {needed:,} would do", needed
        )
    if different:
        return PanelVerdict("different", f"it differs from the baseline in {', '.join(different)}")
    if {result.gate.name for result in results if result.finding != "not applicable"} <= OF_REQUESTS:
        return PanelVerdict("inconclusive", "no case has an answer of both sides, so there is nothing to compare")
    if any(result.finding == "not judged" for result in results):
        return PanelVerdict("inconclusive", "; ".join(_one_trial(results, trials)))
    if unsettled:
        reason = _open_reason(unsettled, cases, needed, named)
        return PanelVerdict("inconclusive", "; ".join([*_greatest(results, named), reason]), needed)
    if whole is not None and whole <= ALPHA:
        return PanelVerdict("inconclusive", _together(results, whole, named))
    few = ", ".join(
        f"{named(result.gate)} ({result.excess.n} cases)"
        for result in results
        if result.finding == "too few cases" and result.excess
    )
    with_enough, rest = (" with enough cases", f"; not judged: {few}") if few else ("", "")
    return PanelVerdict("equivalent", f"every gate{with_enough} is shown to be within its margin{rest}")


def _greatest(results: Sequence[GateResult], named: Named) -> Iterator[str]:
    """Yield what is shown of every gate: the greatest excess that is still possible."""
    bounds = [
        (result.excess.at_most(directed=result.gate.is_directed), named(result.gate))
        for result in results
        if result.excess is not None and result.excess.n >= FEWEST
    ]
    if bounds:
        most, name = max(bounds)
        yield f"no gate is off by more than {most:.2g} ({name})"


def _together(results: Sequence[GateResult], whole: float, named: Named) -> str:
    """Return why a vendor is not called equivalent although every gate is within its margin."""
    names = ", ".join(named(result.gate) for result in results if result.excess and result.p_holm <= ALPHA)
    where = f", in {names}" if names else ""
    return f"every gate is within its margin, but together they show that it is not the same{where} (p = {whole:.2g})"


def _one_trial(results: Sequence[GateResult], trials: tuple[float, float]) -> Iterator[str]:
    """Yield what one trial per case shows, and what it does not."""
    shown = [result for result in results if result.differing and result.differing[1]]
    apart = [result for result in shown if result.differing and result.differing[0]]
    if apart:
        least = min(apart, key=lambda result: result.p)
        yield ", ".join(map(_differ, apart))
        yield f"McNemar {least.p:.2g}, {least.p_holm:.2g} after correction"
    elif shown:
        subjects = [SHOWN_BY[result.gate.name][0] for result in shown]
        yield f"{', '.join(subjects)} agree in every case"
    if trials[0] < SEVERAL:
        yield "how much the baseline differs from itself is not known: run it twice to decide"
    elif trials[1] < SEVERAL:
        yield "not shown to differ; one trial of the vendor does not show its own spread: --trials 3"
    else:
        yield "not shown to differ; too many cases have one trial of a side, which does not show its own spread"


def _differ(result: GateResult) -> str:
    count, cases = result.differing or (0, 1)
    share, (low, high, *_) = count / cases, wilson_interval(count / cases, cases)
    ends = f"{100 * share:.0f} % [{100 * low:.0f}, {100 * high:.0f}]"
    return f"{SHOWN_BY[result.gate.name][0]} differ in {count:,} of {cases:,} cases ({ends})"


def gates_without_verdict(results: Sequence[GateResult]) -> list[str]:
    """Return a sentence that names the gates that one trial does not judge, if there are any."""
    names = ", ".join(result.gate.label for result in results if result.finding == "not judged")
    return [f"not judged, as one trial per case does not show a side's own spread: {names}"] if names else []


def _open_reason(results: Sequence[GateResult], cases: int, needed: int | None, named: Named) -> str:
    names = ", ".join(_open_name(result, cases, named) for result in results)
    close = ", ".join(named(result.gate) for result in results if result.needed is None)
    if close:
        return f"not settled: {names}; {close} is about as far off as its margin, which no number of cases would settle"
    more = f"; about {needed:,} cases with as many trials would do" if needed else ""
    rare = any(map(_is_rare, results))
    fewer = f", or fewer in which each of these gates has {FEWEST} cases or more" if needed and rare else ""
    return f"not settled: {names}{more}{fewer}"


def _open_name(result: GateResult, cases: int, named: Named) -> str:
    """Return the name of a gate that is not settled, and a note if it has too few cases."""
    if result.excess is None or not _is_rare(result):
        return named(result.gate)
    return f"{named(result.gate)} (too few cases: {result.excess.n} of {cases:,} have what it compares)"


def _is_rare(result: GateResult) -> bool:
    return result.excess is not None and result.excess.n < FEWEST
