"""The same numbers as K2-style comparisons, by their rules written down again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.vendor_rows import Row, compared_files, k2_row, own_file, write_rows

KEYS = (
    "total_baseline",
    "total_vendor",
    "common_indices",
    "matched_success",
    "skipped_failures",
    "tool_call_trigger_similarity",
    "tool_call_schema_accuracy",
)


def reference(baseline: list[Row], vendor: list[Row]) -> Row:
    """The rules: rows by index, the last one wins; pairs of two successes; a positive is exactly ``tool_calls``."""
    ours = {row["data_index"]: row for row in baseline}
    theirs = {row["data_index"]: row for row in vendor}
    common = [(ours[index], theirs[index]) for index in sorted(ours.keys() & theirs.keys())]
    matched = [pair for pair in common if all(row["status"] == "success" for row in pair)]
    counts = {"TP": 0, "FP": 0, "FN": 0, "TN": 0}
    triggered = valid = 0
    for one, other in matched:
        expected, found = (row["finish_reason"] == "tool_calls" for row in (one, other))
        counts["TP" if expected and found else "FP" if found else "FN" if expected else "TN"] += 1
        triggered += found
        valid += found and bool(other["tool_calls_valid"])
    precision = counts["TP"] / (counts["TP"] + counts["FP"]) if counts["TP"] + counts["FP"] else 0.0
    recall = counts["TP"] / (counts["TP"] + counts["FN"]) if counts["TP"] + counts["FN"] else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "total_baseline": len(ours),
        "total_vendor": len(theirs),
        "common_indices": len(common),
        "matched_success": len(matched),
        "skipped_failures": len(common) - len(matched),
        "tool_call_trigger_similarity": {
            **counts,
            "precision": round(precision, 4),
            "recall": round(recall, 4),
            "f1": round(f1, 4),
        },
        "tool_call_schema_accuracy": {
            "count_finish_reason_tool_calls": triggered,
            "count_successful_tool_call": valid,
            "schema_accuracy": f"{valid / triggered:.2%}" if triggered else "0.00%",
        },
    }


def compared(baseline: list[Row], vendor: list[Row]) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        files = [write_rows(Path(folder) / f"{name}.jsonl", rows) for name, rows in (("a", baseline), ("b", vendor))]
        document = compared_files(*files)
    return {key: document[key] for key in KEYS}


ENDS = st.sampled_from(["tool_calls", "tool_calls", "stop", "stop", "length", "content_filter"])
VALIDITY = st.sampled_from([True, True, False, None])


def rows_of(ends: list[tuple[str, bool | None]]) -> list[Row]:
    return [
        k2_row(number, end, valid=valid if end == "tool_calls" else None) for number, (end, valid) in enumerate(ends, 1)
    ]


def pairs(ends: st.SearchStrategy[str]) -> st.SearchStrategy[list[tuple[tuple[str, bool | None], ...]]]:
    side = st.tuples(ends, VALIDITY)
    return st.lists(st.tuples(side, side), min_size=1, max_size=40)


@settings(max_examples=examples(0.75))
@given(pairs(ENDS))
def test_without_failures_the_numbers_are_the_same(answers: list[Any]) -> None:
    baseline, vendor = (rows_of([pair[side] for pair in answers]) for side in (0, 1))
    assert compared(baseline, vendor) == reference(baseline, vendor)


@settings(max_examples=examples(0.75))
@given(pairs(st.one_of(ENDS, st.just("failed"))), st.randoms(use_true_random=False))
def test_with_failures_repeats_and_in_any_order_they_are_too(answers: list[Any], random: Any) -> None:
    baseline, vendor = (rows_of([pair[side] for pair in answers]) for side in (0, 1))
    # A repeat of a row before the row itself, as an interrupted and resumed run leaves it.
    vendor = [row | {"status": "failed"} for row in vendor if random.random() < 0.3] + vendor
    random.shuffle(baseline)
    assert compared(baseline, vendor) == reference(baseline, vendor)


def test_a_null_finish_reason_is_a_no_as_theirs_and_no_answer_in_ours(tmp_path: Path) -> None:
    baseline, vendor = [k2_row(1, "tool_calls", valid=True), k2_row(2)], [k2_row(1, None), k2_row(2)]
    assert compared(baseline, vendor) == reference(baseline, vendor)
    files = [write_rows(tmp_path / f"{name}.jsonl", rows) for name, rows in (("a", baseline), ("b", vendor))]
    document = compared_files(*files)
    assert document["tool_call_trigger_similarity"]["FN"] == 1
    assert document["similarity"]["answered"]["cases"] == 1
    assert document["success_rate"]["vendor"]["value"] == 0.5


def test_the_documented_example(tmp_path: Path) -> None:
    counts = {("tool_calls", "tool_calls"): 510, ("stop", "tool_calls"): 475, ("tool_calls", "stop"): 173}
    ends = [pair for pair, count in counts.items() for _ in range(count)] + [("stop", "stop")] * 842
    files = [own_file(tmp_path / f"{name}.jsonl", [pair[side] for pair in ends]) for side, name in enumerate("ab")]
    document = compared_files(*files)
    assert {key: document[key] for key in KEYS} == {
        "total_baseline": 2000,
        "total_vendor": 2000,
        "common_indices": 2000,
        "matched_success": 2000,
        "skipped_failures": 0,
        "tool_call_trigger_similarity": {
            "TP": 510,
            "FP": 475,
            "FN": 173,
            "TN": 842,
            "precision": 0.5178,
            "recall": 0.7467,
            "f1": 0.6115,
        },
        "tool_call_schema_accuracy": {
            "count_finish_reason_tool_calls": 985,
            "count_successful_tool_call": 985,
            "schema_accuracy": "100.00%",
        },
    }
    own = document["similarity"]["answered"]
    assert own["f1"]["value"] == pytest.approx(0.6115, abs=5e-5)
    assert own["f1"]["low"] < 0.6115 < own["f1"]["high"]
