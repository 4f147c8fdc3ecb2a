"""Writes the parts of a response beside its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from trialbed.wire._exchange import COMPLETE, Document, ModelAnswer, ModelRequest
from trialbed.wire.dialects._values import mapping_of

ECHOED: Mapping[str, Any] = MappingProxyType(
    {
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "user": None,
    }
)
"""Settings of a request that its response repeats, and their defaults."""

OWN_REASONS = {"length": "max_output_tokens"}
"""Canonical finish reason -> the dialect's own."""


def write_whole(answer: ModelAnswer, request: ModelRequest, items: Sequence[Document]) -> Document:
    """Return a response with these items, which repeats the settings of its request."""
    own = {name: value for name, value in answer.fields.items() if value is not None}
    ends = {**_end(answer), "usage": write_usage(answer)}
    return {**write_head(answer, request), **own, "output": list(items), **ends}


def write_head(answer: ModelAnswer, request: ModelRequest) -> Document:
    """Return the fields with which a response begins."""
    given = request.document
    echoed = {name: default if given.get(name) is None else given[name] for name, default in ECHOED.items()}
    echoed["reasoning"] = {**mapping_of(ECHOED["reasoning"]), **mapping_of(echoed["reasoning"])}
    head = {"id": f"resp_{answer.id}", "object": "response", "created_at": answer.created, "model": answer.model}
    return {**head, **echoed}


def write_usage(answer: ModelAnswer) -> Document | None:
    """Return the tokens of an answer; None where it reports none."""
    counts = answer.usage
    if counts is None:
        return None
    return {
        "input_tokens": counts.get("prompt_tokens"),
        "input_tokens_details": {"cached_tokens": counts.get("cached_tokens") or 0, "cache_write_tokens": 0},
        "output_tokens": counts.get("completion_tokens"),
        "output_tokens_details": {"reasoning_tokens": counts.get("reasoning_tokens") or 0},
        "total_tokens": counts.get("total_tokens"),
    }


def is_cut(answer: ModelAnswer) -> bool:
    """Return whether an answer has ended before it was complete."""
    return answer.finish_reason is not None and answer.finish_reason not in COMPLETE


def item_identity(answer: ModelAnswer) -> str:
    """Return the beginning of the ids of an answer's items, after the kind of the item."""
    return f"{answer.id}_" if answer.id else ""


def _end(answer: ModelAnswer) -> Document:
    status = None if answer.finish_reason is None else "incomplete" if is_cut(answer) else "completed"
    reason = answer.finish_reason or ""
    details = {"reason": OWN_REASONS.get(reason, reason)} if status == "incomplete" else None
    return {"status": status, "incomplete_details": details, "error": None}
