from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.vendor_rows import Row, compared_files, k2_row, own_row, write_rows

from trialbed.statistics import quantile, wilson_interval
from trialbed_verify.compare import quantile_interval


def figures(folder: Path, baseline: list[Row], vendor: list[Row]) -> dict[str, Any]:
    files = [write_rows(folder / f"{name}.jsonl", rows) for name, rows in (("base", baseline), ("acme", vendor))]
    document = compared_files(*files, resamples=200)
    found: dict[str, Any] = document["figures"] | {"tests": {test["metric"]: test for test in document["tests"]}}
    return found


def test_means_and_quantiles_are_of_what_is_known(tmp_path: Path) -> None:
    baseline = [own_row(n) for n in range(1, 102)]
    vendor = [own_row(n, ttft_ms=float(n)) for n in range(1, 102)]
    vendor[0] |= {"ttft_ms": None}
    found = figures(tmp_path, baseline, vendor)["ttft_ms"]["vendor"]
    assert (found["n"], found["missing"]) == (100, 1)
    assert found["mean"]["value"] == pytest.approx(51.5)
    assert found["p50"]["value"] == pytest.approx(51.5)
    assert found["p95"]["value"] == pytest.approx(96.05)
    assert found["p50"]["low"] < 51.5 < found["p50"]["high"]
    assert found["p99"]["high"] is None, "100 values cannot bound a 99th percentile"


def test_a_failures_figures_are_not_the_vendors(tmp_path: Path) -> None:
    baseline = [own_row(n) for n in (1, 2)]
    vendor = [own_row(1), own_row(2, "timeout", ttft_ms=1.0, total_tokens=5)]
    found = figures(tmp_path, baseline, vendor)
    assert found["ttft_ms"]["vendor"]["mean"]["value"] == 250.0
    assert found["total_tokens"]["vendor"] | {"n": 1, "missing": 0} == found["total_tokens"]["vendor"]


def test_what_nobody_measured_is_missing(tmp_path: Path) -> None:
    rows = [own_row(n, tps=None) for n in (1, 2)]
    found = figures(tmp_path, rows, rows)
    assert found["tps"]["vendor"]["mean"]["value"] is None
    assert found["tps"]["vendor"]["missing"] == 2
    assert found["tps"]["difference"]["value"] is None
    assert "tps" not in found["tests"]


def test_differences_are_of_the_same_cases(tmp_path: Path) -> None:
    """The vendor lacks the slow case, and is 10 ms slower in each of the others."""
    baseline = [own_row(n, ttft_ms=100.0 * n) for n in range(1, 41)]
    vendor = [own_row(n, ttft_ms=100.0 * n + 10) for n in range(1, 40)] + [own_row(40, "timeout")]
    found = figures(tmp_path, baseline, vendor)
    assert found["ttft_ms"]["vendor"]["mean"]["value"] < found["ttft_ms"]["baseline"]["mean"]["value"]
    assert found["ttft_ms"]["difference"]["value"] == pytest.approx(10.0)
    assert found["tests"]["ttft_ms"]["p"] < 0.001


def schema(folder: Path, rows: list[Row]) -> dict[str, Any]:
    path = write_rows(folder / "acme.jsonl", rows)
    found: dict[str, Any] = compared_files(path, path)["schema_accuracy"]["vendor"]
    return found


def call(valid: bool | None, *reasons: str) -> Row:
    return {"name": "look_up", "valid": valid, "reasons": list(reasons)}


def test_responses_and_calls_are_counted_apart(tmp_path: Path) -> None:
    rows = [
        own_row(
            1, "tool_calls", calls=[call(True), call(False, "wrong_type", "missing_required")], tool_calls_valid=False
        ),
        own_row(2, "tool_calls", calls=[call(True), call(True)], tool_calls_valid=True),
        own_row(3, "stop"),
    ]
    found = schema(tmp_path, rows)
    assert (found["per_response"]["value"], found["per_response"]["n"]) == (0.5, 2)
    assert (found["per_call"]["value"], found["per_call"]["n"]) == (0.75, 4)
    assert found["reasons"] == {"wrong_type": 1, "missing_required": 1}


def test_calls_that_are_announced_and_missing_are_an_error(tmp_path: Path) -> None:
    found = schema(tmp_path, [own_row(1, "tool_calls", calls=[], tool_calls_valid=None), own_row(2, "tool_calls")])
    assert found["per_response"]["value"] == 0.5


def test_a_test_sets_broken_schema_is_not_the_vendors_fault(tmp_path: Path) -> None:
    broken = own_row(1, "tool_calls", calls=[call(None, "unusable_schema")], tool_calls_valid=None)
    found = schema(tmp_path, [broken, own_row(2, "tool_calls")])
    assert (found["per_response"]["value"], found["per_response"]["n"]) == (1.0, 1)
    assert found["per_call"]["n"] == 1
    assert found["reasons"] == {}


def test_calls_under_another_finish_reason_do_not_count(tmp_path: Path) -> None:
    found = schema(tmp_path, [own_row(1, "stop", calls=[call(True)]), own_row(2, "tool_calls")])
    assert found["per_call"]["n"] == 1


def test_another_tools_file_does_not_tell_single_calls(tmp_path: Path) -> None:
    found = schema(tmp_path, [k2_row(1, "tool_calls", valid=True), k2_row(2, "tool_calls", valid=None)])
    assert found["per_call"] is None
    assert (found["per_response"]["value"], found["per_response"]["n"]) == (0.5, 2)


def test_no_calls_at_all_are_missing_not_zero(tmp_path: Path) -> None:
    found = schema(tmp_path, [own_row(1), own_row(2)])
    assert found["per_response"]["value"] is None
    assert found["per_call"]["value"] is None


def test_a_rate_has_wilsons_interval_over_cases(compared: Any) -> None:
    ends = ["stop"] * 90 + ["timeout"] * 10
    found = compared(ends, ends)["success_rate"]["vendor"]
    low, high, _ = wilson_interval(0.9, 100)
    assert found == {"value": 0.9, "low": pytest.approx(low), "high": pytest.approx(high), "n": 100}
    tenfold = compared([[end] * 5 for end in ends], [[end] * 5 for end in ends])["success_rate"]["vendor"]
    assert tenfold == found | {"n": 500}


@given(st.lists(st.floats(0, 1e6), min_size=10, max_size=200))
def test_the_median_lies_in_its_interval(values: list[float]) -> None:
    ordered = sorted(values)
    interval = quantile_interval(ordered, 0.5, len(ordered))
    assert interval is not None
    assert interval.low <= quantile(ordered, 0.5) <= interval.high


def test_few_observations_have_no_interval_of_a_high_quantile() -> None:
    assert quantile_interval(list(range(50)), 0.99, 50) is None
    assert quantile_interval(list(range(2000)), 0.99, 2000) is not None


def test_trials_of_one_case_do_not_make_a_quantile_surer() -> None:
    ordered = [float(value) for value in range(1000)]
    sure, clustered = quantile_interval(ordered, 0.5, 1000), quantile_interval(ordered, 0.5, 100)
    assert sure is not None
    assert clustered is not None
    assert clustered.high - clustered.low > 2 * (sure.high - sure.low)


def test_the_interval_of_a_median_holds_it_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        interval = quantile_interval(sorted(random.exponential(size=101)), 0.5, 101)
        assert interval is not None
        held += interval.low <= np.log(2) <= interval.high
    assert 0.92 <= held / 400 <= 0.99
