"""Sums up a wire log: time, tokens and requests."""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.records import ApiCall, ModelCall, Timing, Usage, WireLog

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


def failed(call: ModelCall) -> bool:
    """Whether the model refused or broke off: no status, or one of 400 and up."""
    return call.status == 0 or call.status >= 400


def observed_usage(wire: WireLog) -> Usage | None:
    """Tokens over all model calls, as the model reported them.

    None where no call came through the gateway, or where the model answered one without reporting its tokens. A
    refused call (status 400 and up) consumed none.
    """
    if not wire.model_calls:
        return None
    total = Usage()
    for call in wire.model_calls:
        if call.usage is not None:
            total = total + call.usage
        elif call.status < 400:
            return None
    return total


def repeated_requests(wire: WireLog) -> int:
    """Model calls whose body was sent before, byte for byte: retries of the framework or its client."""
    return len(wire.model_calls) - len({call.request for call in wire.model_calls})
