"""Tokens and times: means, quantiles and paired differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from trialbed.statistics import CaseBootstrap, quantile, quantile_interval
from trialbed_verify.comparison._counts import Column
from trialbed_verify.comparison._pairing import Pair
from trialbed_verify.comparison._results import Trials

FIGURES = ("total_tokens", "completion_tokens", "ttft_ms", "tps", "duration_ms")
QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


def values_of(figure: str, rows: Trials) -> list[float]:
    """The known values of a figure among a case's valid answers."""
    found = (getattr(row, figure) for row in rows.values() if row.decision != "none")
    return [value for value in found if value is not None]


def sums_of(figure: str, trials: Iterable[Trials]) -> tuple[Column, Column]:
    """For each case, the sum of the known values and their number."""
    known = [values_of(figure, rows) for rows in trials]
    return np.array([sum(values) for values in known], dtype=np.float64), np.array(
        [len(values) for values in known], dtype=np.float64
    )


def mean(total: Any, count: Any) -> Any:
    """The mean of what is known."""
    return total / count


def distribution(figure: str, trials: Sequence[Trials], bootstrap: CaseBootstrap) -> dict[str, Any]:
    """Mean and quantiles with their intervals; how many values are known and how many answers lack one."""
    totals, counts = sums_of(figure, trials)
    ordered = sorted(value for rows in trials for value in values_of(figure, rows))
    answers = sum(row.decision != "none" for rows in trials for row in rows.values())
    found: dict[str, Any] = {"n": len(ordered), "missing": answers - len(ordered)}
    found["mean"] = bootstrap.estimate(mean, totals, counts, n=len(ordered)).as_json()
    cases = int((counts > 0).sum())
    return found | {name: _quantile(ordered, share, cases) for name, share in QUANTILES.items()}


def differences(figure: str, pairs: Sequence[Pair]) -> Column:
    """Vendor's mean less baseline's in each case; nan where one of them is not known."""
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
