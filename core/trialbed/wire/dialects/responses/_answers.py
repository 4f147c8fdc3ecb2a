"""Responses, read and written as JSON documents and as streams."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from trialbed.wire._events import event_bytes
from trialbed.wire._exchange import Document, ModelAnswer, ModelMessage, ModelRequest, TextKind
from trialbed.wire._readings import Problem, read_document
from trialbed.wire.dialects._fields import (
    PIECE,
    counts_of,
    list_of,
    mapping_of,
    objects_of,
    pieces,
    text_of,
    whole_number,
)
from trialbed.wire.dialects._streams import AnswerWriter, StreamPart, TypedStream
from trialbed.wire.dialects.responses._requests import ResponsesRequest, read_said

REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}
"""Reason of an incomplete response -> its canonical name."""


def read_answer(document: Document | None) -> ModelAnswer:
    """Read the answer in a response; without output its ``source`` is None."""
    found = document or {}
    output = found.get("output")
    said = read_said(objects_of(output))
    usage = read_usage(found.get("usage"))
    thought = (usage or {}).get("reasoning_tokens", 0)
    return ModelAnswer.of(
        said,
        model=text_of(found.get("model")),
        id=text_of(found.get("id")).removeprefix("resp_"),
        created=whole_number(found.get("created_at")) or 0,
        finish_reason=_reason(found, said),
        usage=usage,
        hidden_tokens=0 if said.reasoning else thought,
        source=said.source if isinstance(output, list) else None,
    )


def read_usage(usage: Any) -> dict[str, int] | None:
    """Return the tokens of a response by their canonical names."""
    found = mapping_of(usage)
    told = {
        "prompt_tokens": found.get("input_tokens"),
        "completion_tokens": found.get("output_tokens"),
        "total_tokens": found.get("total_tokens"),
        "cached_tokens": mapping_of(found.get("input_tokens_details")).get("cached_tokens"),
        "reasoning_tokens": mapping_of(found.get("output_tokens_details")).get("reasoning_tokens"),
    }
    return counts_of(told) or None


def problem_of(document: Document) -> Problem | None:
    """Return why a response is not an answer, or None if it is one."""
    if document.get("error") or document.get("status") == "failed":
        code = mapping_of(document.get("error")).get("code")
        return Problem("error_body", "the response reports an error", code)
    if not isinstance(document.get("output"), list):
        return Problem("null_message", "the response has no list of items as its output")
    if document.get("status") not in ("completed", "incomplete"):
        return Problem("no_finish_reason", f"the status of the response is {str(document.get('status'))[:100]!r}")
    return None


def _reason(document: Mapping[str, Any], said: ModelMessage) -> str | None:
    status = document.get("status")
    if status == "completed":
        return "tool_calls" if said.calls else "stop"
    if status != "incomplete":
        return None
    reason = text_of(mapping_of(document.get("incomplete_details")).get("reason"))
    return REASONS.get(reason, reason) or "length"


read_body = partial(read_document, read_answer, problem_of)


DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.function_call_arguments.delta": "arguments",
    "response.reasoning_summary_text.delta": "thought",
    "response.reasoning_text.delta": "thought",
}
"""Type of an event -> the text of an item that it adds to."""


class ResponsesStreamReader(TypedStream):
    """Reads one stream from bytes that may be cut anywhere.

    Args:
        names: of the tools on offer, which need no help here: a call's name comes whole.
    """

    ENDS = frozenset(("response.completed", "response.incomplete"))
    PLACE = "output_index"
    KINDS: Mapping[str, TextKind] = MappingProxyType({"text": "text", "refusal": "refusal", "thought": "reasoning"})

    def __init__(self, names: Collection[str] = ()) -> None:
        del names
        super().__init__(read_answer, problem_of)
        self._response: Document = {}

    def _add(self, kind: str, event: Mapping[str, Any]) -> bool:
        if isinstance(found := event.get("response"), Mapping):
            self._response = dict(found)
        item = mapping_of(event.get("item"))
        if kind == "response.failed":
            error = mapping_of(self._response.get("error"))
            self._break("error_event", f"the response has failed: {text_of(error.get('message'))}", error.get("code"))
        elif kind == "response.output_item.added":
            self._begin(event, item)
        elif kind == "response.output_item.done":
            place = self._place(event, len(self._parts) - 1)
            self._parts.setdefault(place, StreamPart({})).done = dict(item)
        elif kind in DELTAS:
            return self._extend(event, DELTAS[kind], text_of(event.get("delta")))
        return False

    def _document(self) -> Document:
        output = self._response.get("output")
        if self._parts and not list_of(output):
            return {**self._response, "output": [_item(self._parts[place]) for place in sorted(self._parts)]}
        return self._response


def _item(part: StreamPart) -> Document:
    if part.done:
        return part.done
    said = {field: "".join(pieces) for field, pieces in part.texts.items()}
    item = {"type": "message", "role": "assistant", **part.first}
    if "arguments" in said:
        item |= {"type": part.first.get("type", "function_call"), "arguments": said["arguments"]}
    if "thought" in said:
        item |= {"type": "reasoning", "summary": [{"type": "summary_text", "text": said["thought"]}]}
    parts = [{"type": "output_text", "text": said["text"]}] if "text" in said else []
    parts += [{"type": "refusal", "refusal": said["refusal"]}] if "refusal" in said else []
    return {**item, "content": parts} if parts else item


open_stream = ResponsesStreamReader


ECHOED: Mapping[str, Any] = {
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
"""Settings of a request that its response repeats, and their defaults."""

OWN_REASONS = {"length": "max_output_tokens"}
"""Canonical finish reason -> the dialect's own."""


def write_head(answer: ModelAnswer, request: ModelRequest) -> Document:
    """Return the first fields of a response."""
    given = request.document
    echoed = {name: default if given.get(name) is None else given[name] for name, default in ECHOED.items()}
    echoed["reasoning"] = {**mapping_of(ECHOED["reasoning"]), **mapping_of(echoed["reasoning"])}
    head = {"id": f"resp_{answer.id}", "object": "response", "created_at": answer.created, "model": answer.model}
    return {**head, **echoed}


def write_usage(answer: ModelAnswer) -> Document | None:
    """Return the tokens of an answer, or None if it does not report them."""
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


def item_identity(answer: ModelAnswer) -> str:
    """Return the part of item ids that identifies the answer, between the item's kind and its number."""
    return f"{answer.id}_" if answer.id else ""


class _Text(NamedTuple):
    """The place of a text in an answer, which is a part of an item.

    Attributes:
        item: the type of the item; ``parts``: its field with the parts.
        place: the field of events with the number of the part; ``part_events``: the name of the part's events.
        events: the name of the events of the text; ``more``: their further fields.
        field: of the part, with the text.
        part: the part without its text.
    """

    item: str
    parts: str
    place: str
    part_events: str
    events: str
    field: str
    part: Document
    more: Document


_OF_MESSAGES = "message", "content", "content_index", "content_part"
_OF_THOUGHTS = "reasoning", "summary", "summary_index", "reasoning_summary_part", "reasoning_summary_text"
_WRITTEN: Document = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
TEXTS: dict[TextKind, _Text] = {
    "reasoning": _Text(*_OF_THOUGHTS, "text", {"type": "summary_text", "text": ""}, {}),
    "text": _Text(*_OF_MESSAGES, "output_text", "text", _WRITTEN, {"logprobs": []}),
    "refusal": _Text(*_OF_MESSAGES, "refusal", "refusal", {"type": "refusal", "refusal": ""}, {}),
}


class ResponsesWriter(AnswerWriter):
    """Writes one response, item by item."""

    def __init__(self, head: ModelAnswer, request: ModelRequest) -> None:
        super().__init__(head, request)
        self._number = 0
        self._items: list[Document] = []
        self._item: Document | None = None
        self._open: TextKind | None = None
        self._at: Document = {}
        self._texts: list[str] = []

    def _begin(self, kind: str) -> Iterator[Document]:
        del kind
        begun = {**write_head(self._head, self._request), "output": [], "status": "in_progress"}
        begun |= {"incomplete_details": None, "error": None, "usage": None}
        yield self._event("created", response=begun)
        yield self._event("in_progress", response=begun)

    def _part(self, kind: TextKind, texts: Iterable[str]) -> Iterator[Document]:
        if kind != self._open:
            yield from self._open_part(kind)
        for text in texts:
            self._texts.append(text)
            yield self._event(f"{TEXTS[kind].events}.delta", **self._at, **TEXTS[kind].more, delta=text)

    def _open_part(self, kind: TextKind) -> Iterator[Document]:
        own, place = TEXTS[kind], len(self._items)
        yield from self._close_part()
        if self._item is not None and (self._item["type"] != own.item or kind == "reasoning"):
            yield from self._close()
            place += 1
        if self._item is None:
            earlier = sum(item["type"] == own.item for item in self._items)
            letters = "rs" if kind == "reasoning" else "msg"
            self._item = {"type": own.item, "id": f"{letters}_{item_identity(self._head)}{earlier or ''}"}
            message = {"role": "assistant", "content": [], "status": "in_progress"}
            self._item |= {"summary": []} if kind == "reasoning" else message
            yield self._event("output_item.added", output_index=place, item={**self._item, own.parts: []})
        self._open, self._texts = kind, []
        self._at = {"item_id": self._item["id"], "output_index": place, own.place: len(self._item[own.parts])}
        yield self._event(f"{own.part_events}.added", **self._at, part=own.part)

    def _close_part(self) -> Iterator[Document]:
        if self._open is None or self._item is None:
            return
        own, text = TEXTS[self._open], "".join(self._texts)
        self._open = None
        yield self._event(f"{own.events}.done", **self._at, **own.more, **{own.field: text})
        part = {**own.part, own.field: text}
        self._item[own.parts].append(part)
        yield self._event(f"{own.part_events}.done", **self._at, part=part)

    def _close(self) -> Iterator[Document]:
        yield from self._close_part()
        if self._item is not None:
            item, self._item = self._item, None
            yield self._end_item(item)

    def _call(self, answer: ModelAnswer, place: int, piece: int | None) -> Iterator[Document]:
        call, identity = answer.calls[place], item_identity(answer)
        named = {"id": f"fc_{identity}{place}", "call_id": call.id or f"call_{identity}{place}", "name": call.name}
        item = {"type": "function_call", **named, "arguments": call.arguments, "status": "in_progress"}
        at = {"item_id": item["id"], "output_index": len(self._items)}
        yield self._event("output_item.added", output_index=len(self._items), item={**item, "arguments": ""})
        for part in pieces(call.arguments, piece):
            yield self._event("function_call_arguments.delta", **at, delta=part)
        yield self._event("function_call_arguments.done", **at, arguments=call.arguments)
        yield self._end_item(item)

    def _last(self, answer: ModelAnswer) -> Iterator[Document]:
        name = "incomplete" if answer.is_cut else "completed"
        reason = answer.finish_reason or ""
        own = {field: value for field, value in answer.fields.items() if value is not None}
        ends: Document = {"status": None if answer.finish_reason is None else name}
        ends |= {"incomplete_details": {"reason": OWN_REASONS.get(reason, reason)} if answer.is_cut else None}
        ends |= {"error": None, "usage": write_usage(answer)}
        head = write_head(answer, self._request)
        yield self._event(name, response={**head, **own, "output": list(self._items), **ends})

    def _failure(self, message: str, kind: str, code: str | None) -> Iterator[Document]:
        error = {"code": code or kind, "message": message}
        yield {"type": "error", **error, "param": None, "sequence_number": self._number}
        self._number += 1
        head = write_head(self._head, self._request)
        yield self._event("failed", response={**head, "output": self._items, "status": "failed", "error": error})

    def _end_item(self, item: Document) -> Document:
        if "status" in item:
            item["status"] = "incomplete" if self._cut else "completed"
        place = len(self._items)
        self._items.append(item)
        return self._event("output_item.done", output_index=place, item=item)

    def _event(self, kind: str, **fields: Any) -> Document:
        number = self._number
        self._number += 1
        return {"type": f"response.{kind}", **fields, "sequence_number": number}


def write_message(answer: ModelAnswer) -> Document:
    """Return the items of an answer."""
    whole = write_document(replace(answer, finish_reason="stop"), ResponsesRequest({}))
    return {"output": whole["output"]}


def write_answer(answer: ModelAnswer, request: ModelRequest, *, piece: int | None = PIECE) -> tuple[bytes, ...]:
    """Return the body of the response to a request, which is a document or its events."""
    if not request.stream:
        return (json.dumps(write_document(answer, request)).encode(),)
    events = ResponsesWriter(answer, request).rest(answer, piece)
    return tuple(event_bytes(event, event["type"]) for event in events)


def write_document(answer: ModelAnswer, request: ModelRequest) -> Document:
    """Return the response, which repeats the settings of its request."""
    *_, last = ResponsesWriter(answer, request).rest(answer, None)
    return dict(last["response"])


open_writer = ResponsesWriter
