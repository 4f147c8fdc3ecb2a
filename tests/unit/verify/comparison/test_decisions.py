"""Decisions to call tools: agreement, consistency and significance."""

from __future__ import annotations

import tempfile
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.vendor_rows import compared_files, own_file

from trialbed.statistics import holm, mcnemar
from trialbed_verify.compare import chance_f1, compare, f1, kappa
from trialbed_verify.rows import FileRows
from trialbed_verify.summary import as_document
from trialbed_verify.table import read_one

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


def test_nobody_calling_is_missing_not_zero(compared: Any) -> None:
    found = compared(["stop"] * 5, ["stop"] * 5)["similarity"]["answered"]
    assert found["f1"]["value"] is None
    assert found["precision"] == {"value": None, "low": None, "high": None, "n": 0}


def test_trials_count_by_their_shares(compared: Any) -> None:
    """Cases of which 2 of 4, and 1 of 2 call: an expected quarter of each count."""
    found = compared([["tool_calls", "stop"] * 2], [["tool_calls", "stop"]])["similarity"]["answered"]
    assert [found[name] for name in ("TP", "FP", "FN", "TN")] == [0.25] * 4


def test_figures_of_a_worked_example() -> None:
    # 50 and 40 of 100 trigger; 30 together: by chance 20.
    assert f1(30, 10, 20) == pytest.approx(60 / 90)
    assert chance_f1(30, 10, 20, 40) == pytest.approx(2 * 20 / 90)
    assert kappa(30, 10, 20, 40) == pytest.approx((0.7 - 0.5) / 0.5)


YES, NO = "tool_calls", "stop"


@settings(max_examples=examples(0.3))
@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=12))
def test_self_f1_is_that_of_all_ordered_pairs_of_trials(trials: list[list[bool]]) -> None:
    ends = [[YES if calls else NO for calls in case] for case in trials]
    with tempfile.TemporaryDirectory() as folder:
        path = own_file(Path(folder) / "base.jsonl", ends)
        found = compared_files(path, path)["self_consistency"]["baseline"]["self_f1"]["value"]
    pairs = list(permutations(range(4), 2))
    tp = sum(case[one] and case[other] for case in trials for one, other in pairs)
    fn = sum(case[one] and not case[other] for case in trials for one, other in pairs)
    assert found == (pytest.approx(tp / (tp + fn)) if tp + fn else None)


def test_flips_and_stable_cases_are_counted(compared: Any) -> None:
    baseline = [[YES, YES], [NO, NO], [YES, NO], [YES, NO]]
    found = compared(baseline, [YES, NO, YES, NO])
    itself = found["self_consistency"]["baseline"]
    assert itself["flip_rate"]["value"] == 0.5
    assert itself["self_f1"]["value"] == pytest.approx(0.5)  # 1 / (1 + (1/2 + 1/2))
    assert (itself["cases"], itself["stable_cases"], itself["trials"]) == (4, 2, 2)
    assert found["stable_subset"]["answered"]["cases"] == 2
    assert found["stable_subset"]["answered"]["f1"]["value"] == 1.0


def by_metric(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {test["metric"]: test for test in document["tests"]}


def test_yes_and_no_of_one_trial_are_tested_by_mcnemar(compared: Any) -> None:
    baseline = [YES] * 30 + [NO] * 70
    vendor = [YES] * 18 + [NO] * 12 + [YES] * 2 + [NO] * 68
    found = by_metric(compared(baseline, vendor))["trigger_rate"]
    assert (found["method"], found["vendor_only"], found["baseline_only"]) == ("McNemar", 2, 12)
    assert found["p"] == mcnemar(2, 12)


def test_shares_of_several_trials_are_tested_by_sign_flips(compared: Any) -> None:
    baseline = [[NO, NO]] * 60
    vendor = [["timeout", NO]] * 30 + [[NO, NO]] * 30
    found = by_metric(compared(baseline, vendor))["success_rate"]
    assert found["method"] == "sign flips"
    assert found["p"] == pytest.approx(0.0001)


def test_p_values_are_corrected_over_vendors_and_metrics_together(tmp_path: Path) -> None:
    baseline = own_file(tmp_path / "base.jsonl", [YES, NO] * 40)
    vendors = [
        own_file(tmp_path / f"{name}.jsonl", [YES, NO] * (40 - 2 * count) + [NO, NO] * 2 * count)
        for count, name in enumerate(("a", "b", "c"), 1)
    ]
    documents = as_document(
        compare(read_one(FileRows(baseline)), [read_one(FileRows(path)) for path in vendors], resamples=100)
    )
    found = {(number, test["metric"]): test for number, one in enumerate(documents) for test in one["tests"]}
    assert len(found) == 18
    expected = holm({key: test["p"] for key, test in found.items()})
    assert {key: test["p_holm"] for key, test in found.items()} == expected
    assert found[2, "trigger_rate"]["p_holm"] > found[2, "trigger_rate"]["p"]
