"""Significance tests of the differences between a vendor and the baseline, case by case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trialbed.statistics import paired_test, sign_flip
from trialbed_verify.comparison._decisions import Column, Decisions
from trialbed_verify.comparison._figures import differences, response_verdicts
from trialbed_verify.comparison._pairing import Pair

FIGURES = ("total_tokens", "ttft_ms", "tps")


@dataclass(frozen=True)
class MetricTest:
    """A significance test of one metric.

    Attributes:
        up, down: cases that succeed with the vendor only, and with the baseline only; None for tests of differences.
        p: the p-value, not corrected for multiple tests.
    """

    metric: str
    method: str
    cases: int
    p: float
    up: int | None = None
    down: int | None = None

    def as_json(self) -> dict[str, Any]:
        """For the document."""
        return {
            "metric": self.metric,
            "method": self.method,
            "cases": self.cases,
            "vendor_only": self.up,
            "baseline_only": self.down,
            "p": self.p,
        }


def tests(pairs: Sequence[Pair], baseline: Decisions, vendor: Decisions, seed: int) -> list[MetricTest]:
    """Run every test for which there are data."""
    valid = (response_verdicts(pair.baseline for pair in pairs), response_verdicts(pair.vendor for pair in pairs))
    shares = {
        "trigger_rate": (_majority(baseline), _majority(vendor)),
        "success_rate": (baseline.answers / baseline.trials, vendor.answers / vendor.trials),
        "schema_accuracy": (_means(valid[0], len(pairs)), _means(valid[1], len(pairs))),
    }
    found = [_shares(metric, theirs - ours, seed) for metric, (ours, theirs) in shares.items()]
    found += [_amounts(figure, differences(figure, pairs), seed) for figure in FIGURES]
    return [test for test in found if test.cases]


def _shares(metric: str, values: Column, seed: int) -> MetricTest:
    known = values[np.isfinite(values)]
    if not len(known):
        return MetricTest(metric, "sign flips", 0, 1.0)
    found = paired_test(known, seed=seed)
    return MetricTest(metric, found.method, len(known), found.p, found.up, found.down)


def _amounts(metric: str, values: Column, seed: int) -> MetricTest:
    """Test amounts, of which no case is won or lost."""
    known = values[np.isfinite(values)]
    return MetricTest(metric, "sign flips", len(known), sign_flip(known, seed=seed) if len(known) else 1.0)


def _majority(side: Decisions) -> Column:
    """1 where the majority of valid answers call tools, 0 where a minority do, nan in a tie or without answers."""
    share = side.shares(delivered=False)
    return np.where(share == 0.5, np.nan, np.where(np.isnan(share), np.nan, np.round(share)))


def _means(values: dict[int, list[float]], cases: int) -> Column:
    return np.array(
        [sum(values[case]) / len(values[case]) if values[case] else np.nan for case in range(cases)], dtype=np.float64
    )
