"""The values of ``tool_call_accuracy`` and ``tool_call_f1``, from the rows of an alignment."""

from __future__ import annotations

from trialbed.tool_calls._diagnosis import CallFinding, Diagnosis, MetricResult, quantity

ACCURACY = "tool_call_accuracy"
F1 = "tool_call_f1"
NO_CALLS = "no calls were made, and none were expected"


def accuracy_of(rows: tuple[CallFinding, ...], order: str, notes: tuple[str, ...] = ()) -> MetricResult:
    """Points of all calls over the number of calls."""
    points = sum(row.points for row in rows)
    value = points / len(rows) if rows else 1.0
    formula = f"{quantity(points, 'point')} of {quantity(len(rows), 'call')}" if rows else NO_CALLS
    return MetricResult(ACCURACY, value, Diagnosis(ACCURACY, value, formula, rows, order, notes=notes))


def f1_of(rows: tuple[CallFinding, ...], made: int, right: int, notes: tuple[str, ...] = ()) -> MetricResult:
    """Return the harmonic mean of the points per call made and per call that is right.

    Args:
        made: the number of calls that were made; ``right``: of those that are right.
    """
    points = sum(row.points for row in rows)
    precision, recall = (points / count if count else float(made == right) for count in (made, right))
    value = 2 * points / (made + right) if made + right else 1.0
    formula = f"2 x {quantity(points, 'point')} / ({quantity(made, 'call')} made + {right} right)"
    if not rows:
        formula = NO_CALLS
    return MetricResult(F1, value, Diagnosis(F1, value, formula, rows, "", "", precision, recall, notes))
