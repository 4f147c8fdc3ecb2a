from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import for_each

from trialbed.statistics import CaseBootstrap
from trialbed_verify.comparison._decisions import Decisions, agreement, similarity
from trialbed_verify.comparison._records import F1Verdict
from trialbed_verify.comparison._verdict import f1_verdict

YES, NO = "tool_calls", "stop"


def drawn(cases: int, seed: int, drift: float = 0.0) -> tuple[Decisions, Decisions]:
    """Five trials of a baseline and of a vendor whose chances of a call are the same, or drawn to one half."""
    random = np.random.default_rng(seed)
    chances = random.beta(0.35, 0.4, size=cases)
    sides = (chances, (1 - drift) * chances + drift / 2)
    ours, theirs = (random.binomial(5, chance).astype(np.float64) for chance in sides)
    return Decisions(ours, np.full(cases, 5.0), np.zeros(cases)), Decisions(
        theirs, np.full(cases, 5.0), np.zeros(cases)
    )


def test_a_faithful_vendor_of_a_noisy_model_is_equivalent() -> None:
    """Its F1 is 0.77, not 1: as much as the baseline has with itself."""
    found = f1_verdict(*drawn(2000, 1), CaseBootstrap(2000), 0.02)
    assert found.finding == "equivalent"
    assert abs(found.answered.difference) < 0.01


def test_a_drifted_vendor_is_different() -> None:
    found = f1_verdict(*drawn(2000, 1, drift=0.3), CaseBootstrap(2000), 0.02)
    assert found.finding == "different"
    assert "lies beyond the margin of ±0.02" in found.reason


def test_few_cases_are_inconclusive() -> None:
    found = f1_verdict(*drawn(60, 1), CaseBootstrap(60), 0.02)
    assert found.finding == "inconclusive"


def test_one_trial_of_the_baseline_is_inconclusive_and_says_why(compared: Any) -> None:
    found = compared([YES, NO] * 50, [YES, NO] * 50)["verdict"]
    assert found["finding"] == "inconclusive"
    assert "self-consistency is unknown" in found["reason"]
    assert "--trials" in found["reason"]
    assert found["delivered"] is found["answered"] is None


def test_a_vendor_that_fails_is_different_as_delivered_though_not_as_answered(compared: Any) -> None:
    baseline = [[YES, YES], [NO, NO]] * 200
    vendor = [YES if number % 3 else "timeout" for number in range(400)]
    vendor = [NO if number % 2 else end for number, end in enumerate(vendor)]
    found = compared(baseline, vendor)["verdict"]
    assert found["finding"] == "different"
    assert found["answered"]["finding"] == "equivalent"
    assert found["answered"]["difference"] == 0.0


def test_a_dead_vendor_is_different(compared: Any) -> None:
    found = compared([[YES, YES], [NO, NO]] * 50, ["transport_error"] * 100)["verdict"]
    assert found["finding"] == "different"
    assert found["delivered"]["difference"] == -1.0
    assert found["answered"] is None


def test_where_nobody_calls_nothing_can_be_told(compared: Any) -> None:
    found = compared([[NO, NO]] * 30, [NO] * 30)["verdict"]
    assert found["finding"] == "inconclusive"
    assert "neither side called tools" in found["reason"]


def test_the_verdict_errs_as_rarely_as_it_says() -> None:
    """A vendor just as far off as the margin: either finding is right in neither sense, each at most about 1 in 20."""
    chances = np.random.default_rng(0).beta(0.35, 0.4, size=400_000)
    others = 0.9 * chances + 0.05
    margin = (chances**2).sum() / chances.sum() - 2 * (chances * others).sum() / (chances + others).sum()
    found = [
        f1_verdict(*drawn(400, seed, drift=0.1), CaseBootstrap(400, resamples=300), float(margin)).finding
        for seed in range(200)
    ]
    assert found.count("equivalent") <= 20
    assert found.count("different") <= 20


@pytest.mark.parametrize("margin", [0.005, 0.05])
def test_the_margin_decides(margin: float) -> None:
    found = f1_verdict(*drawn(1000, 3), CaseBootstrap(1000), margin)
    assert found.margin == margin
    assert found.finding == ("equivalent" if margin == 0.05 else "inconclusive")


def test_a_handful_of_cases_does_not_show_equivalence() -> None:
    """In five cases that decide alike nothing varies, so that any interval of resamples has no width."""
    same = Decisions(np.array([5.0] * 3 + [0.0] * 2), np.full(5, 5.0), np.zeros(5))
    found = f1_verdict(same, same, CaseBootstrap(5), 0.02)
    assert found.finding == "inconclusive"
    assert found.reason == "5 cases are too few to show equivalence; it takes 30 at least"
    assert found.delivered is found.answered is None


def alike(cases: int) -> F1Verdict:
    """The verdict where both sides always call tools in half of the cases, and never in the others."""
    same = Decisions(np.array([5.0] * (cases // 2) + [0.0] * (cases // 2)), np.full(cases, 5.0), np.zeros(cases))
    return f1_verdict(same, same, CaseBootstrap(cases), 0.02)


@for_each(("called", "finding"), [(35, "inconclusive"), (70, "inconclusive"), (80, "equivalent")])
def test_cases_that_never_vary_leave_open_what_they_do_not_show(called: int, finding: str) -> None:
    """At the margin of 0.02, one decision of 25 differs; 74 cases are needed to see that with a chance of 95 %."""
    found = alike(2 * called)
    assert found.finding == finding
    assert found.delivered.low < 0 < found.delivered.high
    assert (found.delivered.p_equivalent < 0.05) == (finding == "equivalent")


def test_no_interval_of_kappa_goes_beyond_its_range() -> None:
    """Kappa is 0 in every resample where a vendor never calls."""
    ours = Decisions(np.array([1.0, 1, 0, 0, 0]), np.full(5, 2.0), np.zeros(5))
    theirs = Decisions(np.zeros(5), np.full(5, 2.0), np.zeros(5))
    found = similarity(agreement(ours, theirs, delivered=True), CaseBootstrap(5))
    assert -1 <= found.kappa.interval.low < 0 < found.kappa.interval.high <= 1
