"""The six metrics that are ranked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """A metric: its name in words, whether more is better, and the greatest value it can have."""

    label: str
    more_is_better: bool
    greatest: float | None = None
    zero_is_possible: bool = False


METRICS: Mapping[str, Metric] = {
    "success_rate": Metric("success", more_is_better=True, greatest=1.0, zero_is_possible=True),
    "f1": Metric("F1", more_is_better=True, greatest=1.0, zero_is_possible=True),
    "tps": Metric("TPS", more_is_better=True),
    "schema_accuracy": Metric("schema", more_is_better=True, greatest=1.0, zero_is_possible=True),
    "ttft_ms": Metric("TTFT, ms", more_is_better=False),
    "avg_token": Metric("tokens", more_is_better=False),
}
"""Name of the metric, as tables have it -> what it is."""
