"""Who is to be ranked, and by what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialbed.statistics import Estimate

Columns = Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
"""Metric -> numerator and denominator per case: the metric is the ratio of their sums."""


@dataclass(frozen=True)
class Candidate:
    """A vendor's model with its six metrics.

    Attributes:
        metrics: a metric that is missing has no value.
        is_baseline: whether the decisions of the others are held against its own.
        protocol_errors: the share of answers that broke the protocol; None where that is not known.
        excess: by how much F1 is above what chance would give at the same trigger rates, with its one-sided 95 %
            bound as ``low``; None where it is not known or has no meaning.
        columns: for resampling; None where there are only figures. Cases are in the same order for a whole model.
        incomplete: what its file lacks; empty if nothing.
        notes: what a reader of its row should know.
    """

    model: str
    vendor: str
    metrics: Mapping[str, Estimate]
    is_baseline: bool = False
    protocol_errors: float | None = None
    excess: Estimate | None = None
    columns: Columns | None = None
    incomplete: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def name(self) -> tuple[str, str]:
        """Model and vendor."""
        return self.model, self.vendor

    def values(self) -> dict[str, float]:
        """The metrics that are known."""
        return {metric: found.value for metric, found in self.metrics.items() if found.value is not None}

    def metrics_json(self) -> dict[str, Any]:
        """The metrics with their intervals."""
        return {metric: found.as_json() for metric, found in self.metrics.items()}
