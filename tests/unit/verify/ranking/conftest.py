"""The published tables, and vendors to rank."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from trialbed.statistics import Estimate
from trialbed_verify.ranking import METRICS, VendorMetrics

ROOT = Path(__file__).parents[4]

MakeCandidate = Callable[..., VendorMetrics]
GOOD = {"success_rate": 1.0, "f1": 0.8, "tps": 50.0, "schema_accuracy": 0.95, "ttft_ms": 300.0, "avg_token": 1500.0}


@pytest.fixture(scope="session")
def published() -> dict[str, Any]:
    """The published tables as they were collected; skips where that file is absent."""
    data = Path(os.environ.get("TRIALBED_TEST_DATA", ROOT.parent / "shared" / "data"))
    path = data / "irf_tables.json"
    if not path.is_file():
        pytest.skip(f"the published tables are not at {path}; set TRIALBED_TEST_DATA to the folder that holds them")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.fixture
def candidate() -> MakeCandidate:
    """Makes a vendor of a table: good in all metrics but those given."""

    def make(vendor: str, model: str = "m", **metrics: float | None) -> VendorMetrics:
        values: Mapping[str, float | None] = {**GOOD, **metrics}
        return VendorMetrics(model, vendor, {metric: Estimate(values[metric]) for metric in METRICS})

    return make
