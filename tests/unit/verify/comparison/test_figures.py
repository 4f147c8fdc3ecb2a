from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.vendor_rows import Row, compared_files, own_row, write_rows

from trialbed.statistics import wilson_interval
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


def test_a_test_sets_broken_schema_is_not_the_vendors_fault(tmp_path: Path) -> None:
    broken = own_row(1, "tool_calls", calls=[call(None, "unusable_schema")], tool_calls_valid=None)
    found = schema(tmp_path, [broken, own_row(2, "tool_calls")])
    assert (found["per_response"]["value"], found["per_response"]["n"]) == (1.0, 1)
    assert found["per_call"]["n"] == 1
    assert found["reasons"] == {}


def test_a_rate_has_wilsons_interval_over_cases(compared: Any) -> None:
    ends = ["stop"] * 90 + ["timeout"] * 10
    found = compared(ends, ends)["success_rate"]["vendor"]
    low, high, _ = wilson_interval(0.9, 100)
    assert found == {"value": 0.9, "low": pytest.approx(low), "high": pytest.approx(high), "n": 100}
    tenfold = compared([[end] * 5 for end in ends], [[end] * 5 for end in ends])["success_rate"]["vendor"]
    assert tenfold == found | {"n": 500}


def test_the_interval_of_a_median_holds_it_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        interval = quantile_interval(sorted(random.exponential(size=101)), 0.5, 101)
        assert interval is not None
        held += interval.low <= np.log(2) <= interval.high
    assert 0.92 <= held / 400 <= 0.99
