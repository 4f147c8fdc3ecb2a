"""Rates, tokens and times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from trialbed.statistics import CaseBootstrap, Estimate, Interval, quantile, wilson_interval
from trialbed_verify.comparison._decisions import Column, case_share
from trialbed_verify.comparison._pairing import Pair
from trialbed_verify.comparison._records import Distribution, FigureComparison, Quantile, SchemaAccuracy
from trialbed_verify.comparison._results import Trials
from trialbed_verify.verification.results import ResultRow

FIGURES = ("total_tokens", "completion_tokens", "ttft_ms", "tps", "duration_ms")

QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


def success_rate(trials: Iterable[Trials]) -> Estimate:
    """Return the share of trials with a valid answer."""
    return _rate([[float(row.decision != "none") for row in rows.values()] for rows in trials])


def response_validity(row: ResultRow) -> bool | None:
    """Return whether all calls of a response fit their schemas; None if it calls no tools or nothing says so.

    A response that announces calls and has none is not valid. One whose calls cannot be checked, because the schemas
    of the test set are broken, is left out.
    """
    if row.decision != "tool_calls" or (row.valid is None and row.calls != ()):
        return None
    return row.valid is True


def response_verdicts(trials: Iterable[Trials]) -> list[list[float]]:
    """Return for each case the validity of its responses with tool calls, 1 or 0."""
    return [[float(valid) for row in rows.values() if (valid := response_validity(row)) is not None] for rows in trials]


def schema_accuracy(trials: Sequence[Trials]) -> SchemaAccuracy:
    """Return schema accuracy per response and per call, with the reasons why calls are not valid."""
    rows = [row for case in trials for row in case.values()]
    calling = [row for row in rows if row.decision == "tool_calls"]
    calls = [call for row in calling for call in row.calls or ()]
    reasons = Counter(reason for call in calls if call.valid is False for reason in call.reasons)
    return SchemaAccuracy(
        per_response=_rate(response_verdicts(trials)),
        per_call=_rate(_call_verdicts(trials)) if any(row.calls is not None for row in rows) else None,
        reasons=dict(reasons.most_common()),
        unjudged_calls=sum(call.valid is None for call in calls),
        responses_without_calls=sum(row.calls == () for row in calling),
        calls_under_another_finish_reason=sum(len(row.calls or ()) for row in rows) - len(calls),
    )


def _call_verdicts(trials: Iterable[Trials]) -> list[list[float]]:
    return [
        [
            float(call.valid)
            for row in rows.values()
            if row.decision == "tool_calls"
            for call in row.calls or ()
            if call.valid is not None
        ]
        for rows in trials
    ]


def _rate(values: Sequence[Sequence[float]]) -> Estimate:
    """Return the share of successes, each 1, over the values of every case."""
    sums, counts = sums_and_counts(values)
    return case_share(sums, counts, n=int(counts.sum()))


def sums_and_counts(values: Sequence[Sequence[float]]) -> tuple[Column, Column]:
    """Return the sum and the number of the values of each case."""
    return np.array([sum(case) for case in values], dtype=np.float64), np.array(
        [len(case) for case in values], dtype=np.float64
    )


def values_of(figure: str, rows: Trials) -> list[float]:
    """Return the known values of a figure in a case's valid answers."""
    found = (getattr(row, figure) for row in rows.values() if row.decision != "none")
    return [value for value in found if value is not None]


def mean(total: Any, count: Any) -> Any:
    """Return the mean of the known values."""
    return total / count


def figure_comparison(figure: str, pairs: Sequence[Pair], bootstrap: CaseBootstrap) -> FigureComparison:
    """Return a figure of both sides, with the mean of the differences within cases."""
    apart = differences(figure, pairs)
    known = np.isfinite(apart)
    return FigureComparison(
        baseline=_distribution(figure, [one.baseline for one in pairs], bootstrap),
        vendor=_distribution(figure, [one.vendor for one in pairs], bootstrap),
        difference=bootstrap.estimate(mean, np.where(known, apart, 0.0), known.astype(np.float64), n=int(known.sum())),
    )


def differences(figure: str, pairs: Sequence[Pair]) -> Column:
    """Return the vendor's mean minus the baseline's per case; nan where one of them is unknown."""
    found = []
    for one in pairs:
        ours, theirs = values_of(figure, one.baseline), values_of(figure, one.vendor)
        found.append(sum(theirs) / len(theirs) - sum(ours) / len(ours) if ours and theirs else np.nan)
    return np.array(found, dtype=np.float64)


def _distribution(figure: str, trials: Sequence[Trials], bootstrap: CaseBootstrap) -> Distribution:
    values = [values_of(figure, rows) for rows in trials]
    ordered = sorted(value for case in values for value in case)
    answers = sum(row.decision != "none" for rows in trials for row in rows.values())
    cases = sum(map(bool, values))
    return Distribution(
        n=len(ordered),
        missing=answers - len(ordered),
        mean=bootstrap.estimate(mean, *sums_and_counts(values), n=len(ordered)),
        **{name: _quantile(ordered, share, cases) for name, share in QUANTILES.items()},
    )


def _quantile(ordered: Sequence[float], share: float, cases: int) -> Quantile:
    if not ordered:
        return Quantile()
    interval = quantile_interval(ordered, share, cases)
    low, high = (interval.low, interval.high) if interval else (None, None)
    return Quantile(quantile(ordered, share), low, high)


def quantile_interval(ordered: Sequence[float], share: float, n: int) -> Interval | None:
    """Return the interval of a quantile: the values at the ends of the interval of its share (Woodruff's method).

    Source: R. S. Woodruff, "Confidence Intervals for Medians and Other Position Measures", Journal of the American
    Statistical Association 47 (1952), 635-646; with Wilson's interval for the share.

    Args:
        ordered: the values from least to greatest; at least one.
        n: the independent observations among them: cases, where several values are of one case.

    Returns:
        None where there are so few observations that an end lies beyond all of them (a p99 of 50 values).
    """
    low, high, _ = wilson_interval(share, n)
    if low * n < 1 or (1 - high) * n < 1:
        return None
    return Interval(quantile(ordered, low), quantile(ordered, high))
