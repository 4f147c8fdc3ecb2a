from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.vendor_rows import own_file

from trialbed.statistics import holm, mcnemar
from trialbed_verify.compare import compare
from trialbed_verify.rows import FileRows
from trialbed_verify.summary import as_document
from trialbed_verify.table import read_one

YES, NO = "tool_calls", "stop"


def by_metric(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {test["metric"]: test for test in document["tests"]}


def test_yes_and_no_of_one_trial_are_tested_by_mcnemar(compared: Any) -> None:
    baseline = [YES] * 30 + [NO] * 70
    vendor = [YES] * 18 + [NO] * 12 + [YES] * 2 + [NO] * 68
    found = by_metric(compared(baseline, vendor))["trigger_rate"]
    assert (found["method"], found["vendor_only"], found["baseline_only"]) == ("McNemar", 2, 12)
    assert found["p"] == mcnemar(2, 12)


def test_the_trigger_rate_is_held_against_the_baselines_majority(compared: Any) -> None:
    baseline = [[YES, YES, NO]] * 10 + [[YES, NO]] * 4 + [[NO, NO, NO]] * 6
    found = by_metric(compared(baseline, [NO] * 20))["trigger_rate"]
    assert (found["cases"], found["baseline_only"], found["vendor_only"]) == (16, 10, 0)


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
