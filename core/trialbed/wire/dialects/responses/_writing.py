"""Writes responses, as documents and as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from trialbed.wire._exchange import Document, ModelAnswer, ModelRequest
from trialbed.wire.dialects._flaws import write_typed
from trialbed.wire.dialects._values import PIECE, mapping_of, pieces
from trialbed.wire.dialects.responses._flaws import OWN_FLAWS
from trialbed.wire.dialects.responses._items import write_items

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

EMPTY: Mapping[str, Document] = MappingProxyType(
    {"message": {"content": []}, "function_call": {"arguments": ""}, "reasoning": {"summary": []}}
)
"""Type of an item -> the fields in which it says nothing yet."""

COMPLETE = ("stop", "tool_calls")
"""Finish reasons of complete responses."""

OWN_REASONS = {"length": "max_output_tokens"}
"""Canonical finish reason -> the dialect's own."""


def write_message(answer: ModelAnswer) -> Document:
    """Return the items of an answer."""
    return {"output": write_items(answer, f"{answer.id}_" if answer.id else "")}


def write_answer(
    answer: ModelAnswer, request: ModelRequest, flaw: str = "", *, piece: int | None = PIECE
) -> tuple[bytes, ...]:
    """Return the body of the response to a request: a document, or its events.

    Args:
        flaw: one of ``FLAWS``, or empty.
        piece: characters of text or arguments in one event; None sends each text in one.

    Raises:
        LookupError: there is no such flaw.
    """
    return write_typed(
        OWN_FLAWS,
        flaw,
        request,
        document=lambda: write_document(answer, request),
        events=lambda: write_events(answer, request, piece=piece),
    )


def write_document(answer: ModelAnswer, request: ModelRequest) -> Document:
    """Return the response, which repeats the settings of its request."""
    own = {name: value for name, value in answer.fields.items() if value is not None}
    return {**_head(answer, request), **own, "output": _items(answer), **_end(answer), "usage": write_usage(answer)}


def write_events(answer: ModelAnswer, request: ModelRequest, *, piece: int | None = PIECE) -> list[Document]:
    """Return the events of a stream, in the order in which the vendor sends them."""
    begun = {**_head(answer, request), "output": [], "status": "in_progress", "incomplete_details": None}
    begun |= {"error": None, "usage": None}
    events: list[Document] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for place, item in enumerate(_items(answer)):
        events += _item_events(place, item, piece)
    end = "incomplete" if _status(answer) == "incomplete" else "completed"
    events.append({"type": f"response.{end}", "response": write_document(answer, request)})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


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


def _item_events(place: int, item: Document, piece: int | None) -> Iterator[Document]:
    at = {"item_id": item["id"], "output_index": place}
    kind = item["type"]
    begun: Document = {**item, **EMPTY[kind], **({"status": "in_progress"} if "status" in item else {})}
    yield {"type": "response.output_item.added", "output_index": place, "item": begun}
    if kind == "function_call":
        yield from _text_events("response.function_call_arguments", "arguments", item["arguments"], at, piece)
    elif kind == "reasoning":
        for number, part in enumerate(item["summary"]):
            there = {**at, "summary_index": number}
            yield {"type": "response.reasoning_summary_part.added", **there, "part": {**part, "text": ""}}
            yield from _text_events("response.reasoning_summary_text", "text", part["text"], there, piece)
            yield {"type": "response.reasoning_summary_part.done", **there, "part": part}
    else:
        for number, part in enumerate(item["content"]):
            yield from _part_events(part, {**at, "content_index": number}, piece)
    yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _part_events(part: Document, at: Document, piece: int | None) -> Iterator[Document]:
    field = "text" if part["type"] == "output_text" else "refusal"
    name = "response.output_text" if field == "text" else "response.refusal"
    yield {"type": "response.content_part.added", **at, "part": {**part, field: ""}}
    more: Document = {"logprobs": []} if field == "text" else {}
    yield from _text_events(name, field, part[field], {**at, **more}, piece)
    yield {"type": "response.content_part.done", **at, "part": part}


def _text_events(name: str, field: str, text: str, at: Document, piece: int | None) -> Iterator[Document]:
    yield from ({"type": f"{name}.delta", **at, "delta": part} for part in pieces(text, piece))
    yield {"type": f"{name}.done", **at, field: text}


def _items(answer: ModelAnswer) -> list[Document]:
    status = "incomplete" if _status(answer) == "incomplete" else "completed"
    return write_items(answer, f"{answer.id}_" if answer.id else "", status)


def _head(answer: ModelAnswer, request: ModelRequest) -> Document:
    given = request.document
    echoed = {name: default if given.get(name) is None else given[name] for name, default in ECHOED.items()}
    echoed["reasoning"] = {**mapping_of(ECHOED["reasoning"]), **mapping_of(echoed["reasoning"])}
    head = {"id": f"resp_{answer.id}", "object": "response", "created_at": answer.created, "model": answer.model}
    return {**head, **echoed}


def _status(answer: ModelAnswer) -> str | None:
    if answer.finish_reason is None:
        return None
    return "completed" if answer.finish_reason in COMPLETE else "incomplete"


def _end(answer: ModelAnswer) -> Document:
    status, reason = _status(answer), answer.finish_reason or ""
    details = {"reason": OWN_REASONS.get(reason, reason)} if status == "incomplete" else None
    return {"status": status, "incomplete_details": details, "error": None}
