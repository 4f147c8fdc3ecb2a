"""Rates, tokens and times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from trialbed.statistics import CaseBootstrap, Estimate, clustered_interval, quantile, quantile_interval
from trialbed_verify.comparison._decisions import Column
from trialbed_verify.comparison._pairing import Pair
from trialbed_verify.comparison._results import Trials
from trialbed_verify.verification.results import ResultRow

Verdicts = Mapping[int, list[float]]
"""Number of the case -> 1 for each success, 0 for each failure."""


FIGURES = ("total_tokens", "completion_tokens", "ttft_ms", "tps", "duration_ms")

QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


def rate(values: Verdicts) -> Estimate:
    """The share of successes, with an interval that keeps the trials of a case together."""
    parts, wholes = [sum(repeats) for repeats in values.values()], [len(repeats) for repeats in values.values()]
    if not sum(wholes):
        return Estimate(None, None, 0)
    return Estimate(sum(parts) / sum(wholes), clustered_interval(parts, wholes), sum(wholes))


def success_rate(trials: Iterable[Trials]) -> Estimate:
    """The share of trials with a valid answer."""
    return rate(
        {number: [float(row.decision != "none") for row in rows.values()] for number, rows in enumerate(trials)}
    )


def response_validity(row: ResultRow) -> bool | None:
    """Whether all calls of a response fit their schemas; None if it calls no tools or the calls cannot be checked.

    A response that announces calls and has none is not valid. One whose calls cannot be checked, because the schemas
    of the test set are broken, is left out.
    """
    if row.decision != "tool_calls":
        return None
    if row.valid is None and row.calls:
        return None
    return row.valid is True


def response_verdicts(trials: Iterable[Trials]) -> dict[int, list[float]]:
    """For each case, the validity of its responses with tool calls."""
    found = {number: map(response_validity, rows.values()) for number, rows in enumerate(trials)}
    return {number: [float(valid) for valid in verdicts if valid is not None] for number, verdicts in found.items()}


def schema_accuracy(trials: Iterable[Trials]) -> dict[str, Any]:
    """Schema accuracy per response and per call, with the reasons why calls are not valid."""
    ordered = list(trials)
    return {
        "per_response": rate(response_verdicts(ordered)).as_json(),
        "per_call": rate(_call_verdicts(ordered)).as_json() if _has_calls(ordered) else None,
        **_tallies(row for rows in ordered for row in rows.values()),
    }


def _call_verdicts(trials: list[Trials]) -> dict[int, list[float]]:
    return {
        number: [
            float(call.valid)
            for row in rows.values()
            if row.decision == "tool_calls"
            for call in row.calls or ()
            if call.valid is not None
        ]
        for number, rows in enumerate(trials)
    }


def _has_calls(trials: list[Trials]) -> bool:
    return any(row.calls is not None for rows in trials for row in rows.values())


def _tallies(rows: Iterable[ResultRow]) -> dict[str, Any]:
    """The reasons why calls are not valid, and counts of what neither share includes."""
    reasons: Counter[str] = Counter()
    unjudged = empty = stray = 0
    for row in rows:
        calls = row.calls or ()
        if row.decision != "tool_calls":
            stray += len(calls)
            continue
        empty += row.calls == ()
        unjudged += sum(call.valid is None for call in calls)
        reasons.update(reason for call in calls if call.valid is False for reason in call.reasons)
    return {
        "reasons": dict(reasons.most_common()),
        "unjudged_calls": unjudged,
        "responses_without_calls": empty,
        "calls_under_another_finish_reason": stray,
    }


def values_of(figure: str, rows: Trials) -> list[float]:
    """The known values of a figure in a case's valid answers."""
    found = (getattr(row, figure) for row in rows.values() if row.decision != "none")
    return [value for value in found if value is not None]


def sums_of(figure: str, trials: Iterable[Trials]) -> tuple[Column, Column]:
    """The sum and the number of known values per case."""
    known = [values_of(figure, rows) for rows in trials]
    return np.array([sum(values) for values in known], dtype=np.float64), np.array(
        [len(values) for values in known], dtype=np.float64
    )


def mean(total: Any, count: Any) -> Any:
    """The mean of the known values."""
    return total / count


def distribution(figure: str, trials: Sequence[Trials], bootstrap: CaseBootstrap) -> dict[str, Any]:
    """Mean and quantiles with their intervals, and the numbers of known and missing values."""
    totals, counts = sums_of(figure, trials)
    ordered = sorted(value for rows in trials for value in values_of(figure, rows))
    answers = sum(row.decision != "none" for rows in trials for row in rows.values())
    found: dict[str, Any] = {"n": len(ordered), "missing": answers - len(ordered)}
    found["mean"] = bootstrap.estimate(mean, totals, counts, n=len(ordered)).as_json()
    cases = int((counts > 0).sum())
    return found | {name: _quantile(ordered, share, cases) for name, share in QUANTILES.items()}


def differences(figure: str, pairs: Sequence[Pair]) -> Column:
    """The vendor's mean minus the baseline's per case; nan where one of them is unknown."""
    return np.array(
        [_difference(values_of(figure, pair.baseline), values_of(figure, pair.vendor)) for pair in pairs],
        dtype=np.float64,
    )


def difference(values: Column, bootstrap: CaseBootstrap) -> dict[str, Any]:
    """The mean paired difference with its interval."""
    known = np.isfinite(values)
    found = bootstrap.estimate(mean, np.where(known, values, 0.0), known.astype(np.float64), n=int(known.sum()))
    return found.as_json()


def _difference(ours: list[float], theirs: list[float]) -> float:
    return sum(theirs) / len(theirs) - sum(ours) / len(ours) if ours and theirs else np.nan


def _quantile(ordered: list[float], share: float, cases: int) -> dict[str, float | None]:
    if not ordered:
        return {"value": None, "low": None, "high": None}
    interval = quantile_interval(ordered, share, cases)
    low, high = (interval.low, interval.high) if interval else (None, None)
    return {"value": quantile(ordered, share), "low": low, "high": high}
