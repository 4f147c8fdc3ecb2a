"""Significance tests of the differences between a vendor and the baseline, case by case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from trialbed.statistics import paired_test
from trialbed_verify.comparison._decisions import Column, Decisions
from trialbed_verify.comparison._figures import differences, response_verdicts
from trialbed_verify.comparison._pairing import Pair
from trialbed_verify.comparison._records import MetricTest

AMOUNTS = ("total_tokens", "ttft_ms", "tps")
"""Figures of which no case is won or lost."""


def significance_tests(pairs: Sequence[Pair], baseline: Decisions, vendor: Decisions) -> Iterator[MetricTest]:
    """Run every test for which there are data."""
    ours, theirs = (
        response_verdicts(side) for side in zip(*((one.baseline, one.vendor) for one in pairs), strict=True)
    )
    values = {
        "trigger_rate": _majority(vendor) - _majority(baseline),
        "success_rate": vendor.answers / vendor.trials - baseline.answers / baseline.trials,
        "schema_accuracy": _means(theirs) - _means(ours),
        **{figure: differences(figure, pairs) for figure in AMOUNTS},
    }
    for metric, column in values.items():
        known = column[np.isfinite(column)]
        if len(known):
            found = paired_test(known, of_amounts=metric in AMOUNTS)
            yield MetricTest(metric, found.method, len(known), found.up, found.down, found.p)


def _majority(side: Decisions) -> Column:
    """Return 1 where most valid answers call tools, 0 where fewer than half do, nan in a tie or without answers."""
    share = side.shares(delivered=False)
    return np.where(share == 0.5, np.nan, np.round(share))


def _means(values: Sequence[Sequence[float]]) -> Column:
    return np.array([sum(case) / len(case) if case else np.nan for case in values], dtype=np.float64)
