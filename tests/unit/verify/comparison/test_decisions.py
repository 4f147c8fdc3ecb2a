from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbed_verify.compare import chance_f1, excess_f1, f1, kappa

ENDS = ["tool_calls"] * 6 + ["stop"] * 10 + ["other"] * 4


def test_equal_decisions_are_perfect(compared: Any) -> None:
    found = compared(ENDS, ENDS)["similarity"]["answered"]
    assert (found["TP"], found["FP"], found["FN"], found["TN"]) == (6, 0, 0, 14)
    # No resample differs, but six cases with calls leave more open than six hundred.
    assert (found["f1"]["value"], found["f1"]["high"], found["f1"]["n"]) == (1.0, 1.0, 20)
    assert 0.7 < found["f1"]["low"] < 0.8
    assert 0.5 < found["kappa"]["low"] < 0.7
    many = compared(ENDS * 30, ENDS * 30)["similarity"]["answered"]
    assert many["f1"]["low"] > 0.98
    assert found["kappa"]["value"] == 1.0


def test_a_failure_is_no_decision_but_a_missed_call_of_what_is_delivered(compared: Any) -> None:
    vendor = ["timeout"] * 3 + ENDS[3:-1] + ["protocol_error"]
    document = compared(ENDS, vendor)
    answered, delivered = (document["similarity"][side] for side in ("answered", "delivered"))
    assert answered["cases"] == 16
    assert answered["f1"]["value"] == 1.0
    assert delivered["cases"] == 20
    assert (delivered["TP"], delivered["FN"]) == (3, 3)
    assert delivered["recall"]["value"] == 0.5
    assert document["outcomes"]["vendor"]["problems"] == {"cut_stream": 4}


def test_the_baselines_failures_are_no_truth_to_hold_anyone_to(compared: Any) -> None:
    found = compared(["timeout", *ENDS], ["tool_calls", *ENDS])["similarity"]["delivered"]
    assert found["cases"] == 20
    assert found["f1"]["value"] == 1.0


def test_other_finish_reasons_are_no_calls_and_shown_apart(compared: Any) -> None:
    document = compared(ENDS, ["other"] * 20)
    assert document["similarity"]["answered"]["f1"]["value"] == 0.0
    assert document["outcomes"]["vendor"]["other_finish_reasons"] == {"length": 20}


def test_nobody_calling_is_missing_not_zero(compared: Any) -> None:
    found = compared(["stop"] * 5, ["stop"] * 5)["similarity"]["answered"]
    assert found["f1"]["value"] is None
    assert found["precision"] == {"value": None, "low": None, "high": None, "n": 0}


def test_a_vendor_that_never_answers_is_not_similar(compared: Any) -> None:
    document = compared(ENDS, ["transport_error"] * 20)
    assert document["similarity"]["answered"]["f1"]["value"] is None
    assert document["similarity"]["delivered"]["f1"]["value"] == 0.0
    assert document["success_rate"]["vendor"]["value"] == 0.0


def test_trials_count_by_their_shares(compared: Any) -> None:
    """Cases of which 2 of 4, and 1 of 2 call: an expected quarter of each count."""
    found = compared([["tool_calls", "stop"] * 2], [["tool_calls", "stop"]])["similarity"]["answered"]
    assert [found[name] for name in ("TP", "FP", "FN", "TN")] == [0.25] * 4


COUNT = st.integers(0, 60)


@given(COUNT, COUNT, COUNT, COUNT)
def test_f1_is_above_chance_just_when_kappa_is_positive(tp: int, fp: int, fn: int, tn: int) -> None:
    marginals = (tp + fp, tp + fn, fp + tn, fn + tn)
    if min(marginals) == 0:
        return
    assert math.copysign(1, excess_f1(tp, fp, fn, tn)) == math.copysign(1, kappa(tp, fp, fn, tn)) or (
        excess_f1(tp, fp, fn, tn) == pytest.approx(kappa(tp, fp, fn, tn), abs=1e-12)
    )


def test_figures_of_a_worked_example() -> None:
    # 50 and 40 of 100 trigger; 30 together: by chance 20.
    assert f1(30, 10, 20) == pytest.approx(60 / 90)
    assert chance_f1(30, 10, 20, 40) == pytest.approx(2 * 20 / 90)
    assert kappa(30, 10, 20, 40) == pytest.approx((0.7 - 0.5) / 0.5)


def test_the_same_files_give_the_same_document(compared: Any) -> None:
    vendor = ["stop", *ENDS[1:]]
    assert compared(ENDS, vendor) == compared(ENDS, vendor)
