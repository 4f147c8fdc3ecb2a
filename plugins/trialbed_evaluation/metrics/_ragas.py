"""Compute tool-call accuracy and F1 like Ragas 0.4.3, to the last bit.

The rules come from ``ToolCallAccuracy`` and ``ToolCallF1`` of ``ragas.metrics.collections``.
docs/reference/scores.md states them with their oddities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trialbed.tool_calls import ToolCall


def accuracy(made: Sequence[ToolCall], right: Sequence[ToolCall], order: str) -> float:
    """Return the mean share of correct arguments, by position; 0 unless the names are the same in the same order.

    In flexible order, both lists are sorted separately first.
    """
    if order == "flexible":
        made, right = sorted(made, key=_sort_key), sorted(right, key=_sort_key)
    if [call.name for call in made] != [call.name for call in right]:
        return 0.0
    total = 0.0
    for call, wanted in zip(made, right, strict=True):  # ``sum`` rounds differently from Python 3.12 on
        total += _right_share(call.args or {}, wanted.args or {})
    return total / len(right) if right else 1.0


def f1(made: Sequence[ToolCall], right: Sequence[ToolCall]) -> float:
    """Return F1 over the distinct calls, rounded to four digits; 0 if both are empty."""
    ours, theirs = ({(call.name, _hashable(call.args or {})) for call in calls} for calls in (made, right))
    both = len(ours & theirs)
    precision, recall = (both / len(side) if side else 0.0 for side in (ours, theirs))
    return round(2 * precision * recall / (precision + recall), 4) if both else 0.0


def _right_share(made: Mapping[str, Any], right: Mapping[str, Any]) -> float:
    """Return the share of the reference's arguments with the same text from Python's ``str``."""
    if not right:
        return 0.0 if made else 1.0
    return sum(name in made and str(made[name]) == str(wanted) for name, wanted in right.items()) / len(right)


def _sort_key(call: ToolCall) -> tuple[str, list[tuple[str, str]]]:
    return call.name, sorted((name, str(value)) for name, value in (call.args or {}).items())


def _hashable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return frozenset((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_hashable, value))
    if isinstance(value, (set, frozenset)):
        return frozenset(map(_hashable, value))
    return value
