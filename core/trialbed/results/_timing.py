"""Whom a trial waited for."""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.records import ApiCall, ModelCall, Timing, WireLog

Span = tuple[float, float]


def compute_timing(wall: float, wire: WireLog) -> Timing:
    """Split a trial's wall time (seconds) into model, tools and framework.

    Calls that overlap count once, and time in which a model and a tool were both waited for counts as model.
    No part is negative and the parts add up to ``wall``, even where the server saw calls go on after the
    agent had ended.
    """
    model_spans = _spans(wire.model_calls)
    waited_for_model = _union(model_spans)
    waited_for_any = _union([*model_spans, *_spans(wire.api_calls)])
    model = min(waited_for_model, wall)
    tool = min(waited_for_any - waited_for_model, wall - model)
    return Timing(wall=wall, model=model, tool=max(0.0, tool), framework=max(0.0, wall - model - max(0.0, tool)))


def _spans(calls: Iterable[ModelCall | ApiCall]) -> list[Span]:
    return [(call.started, call.started + call.duration) for call in calls]


def _union(spans: list[Span]) -> float:
    total, end = 0.0, float("-inf")
    for start, stop in sorted(spans):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total
