"""Success rate and schema accuracy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from trialbed.statistics import Estimate, bounded_mean_interval
from trialbed_verify.comparison._results import Trials
from trialbed_verify.verification.results import ResultRow

Verdicts = Mapping[int, list[float]]
"""Number of the case -> 1 for each thing that is right, 0 for each that is not."""


def rate(values: Verdicts) -> Estimate:
    """The share of what is right, with Wilson's interval at as many observations as there are cases."""
    told = [value for repeats in values.values() for value in repeats]
    if not told:
        return Estimate(None, None, 0)
    return Estimate(sum(told) / len(told), bounded_mean_interval(values), len(told))


def success_rate(trials: Iterable[Trials]) -> Estimate:
    """Trials that ended with a valid answer, among all."""
    return rate(
        {number: [float(row.decision != "none") for row in rows.values()] for number, rows in enumerate(trials)}
    )


def response_validity(row: ResultRow) -> bool | None:
    """Whether all calls of a response fit their schemas; None if it calls no tools or that cannot be told.

    A response that announces calls and has none is not valid; one whose calls can all not be told, as the test set's
    schemas are broken, is left out.
    """
    if row.decision != "tool_calls":
        return None
    if row.valid is None and row.calls:
        return None
    return row.valid is True


def response_verdicts(trials: Iterable[Trials]) -> dict[int, list[float]]:
    """For each case, whether its responses with tool calls are valid."""
    found = {number: map(response_validity, rows.values()) for number, rows in enumerate(trials)}
    return {number: [float(valid) for valid in verdicts if valid is not None] for number, verdicts in found.items()}


def schema_accuracy(trials: Iterable[Trials]) -> dict[str, Any]:
    """Per response and per call, with the reasons why calls are not valid."""
    ordered = list(trials)
    return {
        "per_response": rate(response_verdicts(ordered)).as_json(),
        "per_call": rate(_call_verdicts(ordered)).as_json() if _tells_calls(ordered) else None,
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


def _tells_calls(trials: list[Trials]) -> bool:
    return any(row.calls is not None for rows in trials for row in rows.values())


def _tallies(rows: Iterable[ResultRow]) -> dict[str, Any]:
    """Why calls are not valid, and what lies beside the two shares."""
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
