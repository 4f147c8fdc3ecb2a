"""What the server saw of a trial, in figures, beside what the agent claims."""

from __future__ import annotations

from collections import Counter
from typing import Any

from trialbed.records import Answer, SentCall, TrialResult, WireLog
from trialbed.results._calls import claimed_pairs, observed_pairs
from trialbed.results._usage import failed, repeated_requests


def wire_summary(result: TrialResult, answer: Answer) -> dict[str, Any]:
    """An entry's ``wire``.

    ``sent``, ``observed`` and ``claimed`` list the calls as (tool_name, api_name), in order: those that the
    model sent and that can be made, those that reached the virtual API, those that the agent reports. Where a
    trial failed, ``sent`` has the tools' names instead, each alone.
    """
    wire, claims = result.wire, result.score("claimed_vs_observed")
    detail = claims.detail if claims else {}
    return {
        **_model_figures(wire),
        **_api_figures(wire),
        "sent": detail.get("sent", [[call.name] for call in _sent(wire) if call.problem is None]),
        "sent_invalid": sum(1 for call in _sent(wire) if call.problem is not None),
        "sent_problems": dict(Counter(call.problem for call in _sent(wire) if call.problem is not None)),
        "observed": observed_pairs(wire),
        "claimed": claimed_pairs(answer),
        "invented": detail.get("invented", []),
        "unreported": detail.get("unreported", []),
    }


def _model_figures(wire: WireLog) -> dict[str, int]:
    calls = wire.model_calls
    return {
        "model_calls": len(calls),
        "model_errors": sum(1 for call in calls if failed(call)),
        "retries": repeated_requests(wire),
        "request_bytes": sum(call.request_bytes for call in calls),
        "response_bytes": sum(call.response_bytes for call in calls),
    }


def _api_figures(wire: WireLog) -> dict[str, int]:
    calls = wire.api_calls
    return {
        "api_calls": len(calls),
        "api_errors": sum(1 for call in calls if call.error or call.status != 200),
        "not_offered": sum(1 for call in calls if not call.offered),
        "cached": sum(1 for call in calls if call.provenance.startswith("cache:")),
    }


def _sent(wire: WireLog) -> list[SentCall]:
    return [call for turn in wire.model_calls for call in turn.tool_calls]
