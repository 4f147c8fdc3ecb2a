"""Vendors to rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from trialbed.statistics import Estimate
from trialbed_verify.ranking import METRICS, RankedVendor

MakeCandidate = Callable[..., RankedVendor]
GOOD = {"success_rate": 1.0, "f1": 0.8, "tps": 50.0, "schema_accuracy": 0.95, "ttft_ms": 300.0, "avg_token": 1500.0}


@pytest.fixture
def candidate() -> MakeCandidate:
    """Makes a vendor of a table: good in all metrics but those given."""

    def make(vendor: str, model: str = "m", **metrics: float | None) -> RankedVendor:
        values: Mapping[str, float | None] = {**GOOD, **metrics}
        return RankedVendor(model, vendor, {metric: Estimate(values[metric]) for metric in METRICS})

    return make
