from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.vendor_rows import Row, own_row, write_rows

from trialbed_verify.comparison import CompareOptions, compare, read_one


def figures(folder: Path, baseline: list[Row], vendor: list[Row]) -> dict[str, Any]:
    files = [write_rows(folder / f"{name}.jsonl", rows) for name, rows in (("base", baseline), ("acme", vendor))]
    (document,) = compare(read_one(files[0]), [read_one(files[1])], CompareOptions(resamples=200))
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
