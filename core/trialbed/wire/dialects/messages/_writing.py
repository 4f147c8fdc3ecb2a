"""Writes messages of a model, as documents and as the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from trialbed.wire._events import event_bytes
from trialbed.wire._exchange import Document, ModelAnswer, ModelRequest, TextKind
from trialbed.wire.dialects._fields import PIECE, pieces
from trialbed.wire.dialects._stream_writer import AnswerWriter
from trialbed.wire.dialects.messages._answers import write_error
from trialbed.wire.dialects.messages._blocks import call_id, write_blocks

OWN_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
"""Canonical finish reason -> the dialect's own; others stay unchanged."""


class MessagesWriter(AnswerWriter):
    """Writes one message, block by block; the words of a refusal stand at its end."""

    def __init__(self, head: ModelAnswer, request: ModelRequest) -> None:
        super().__init__(head, request)
        self._index = -1
        self._open: TextKind | None = None

    def _begin(self, kind: str) -> list[Document]:
        del kind
        unfinished = {"stop_reason": None, "stop_sequence": None}
        start = {**write_head(self._head), "role": "assistant", "content": [], **unfinished}
        if self._head.usage is not None:
            start["usage"] = {**write_usage(self._head), "output_tokens": 0}
        return [{"type": "message_start", "message": start}, {"type": "ping"}]

    def _part(self, kind: TextKind, texts: Iterable[str]) -> Iterator[Document]:
        for text in () if kind == "refusal" else texts:
            if kind != self._open:
                yield from self._close()
                self._open = kind
                thought = {"type": "thinking", "thinking": "", "signature": ""}
                yield self._start({"type": "text", "text": ""} if kind == "text" else thought)
            if kind == "text":
                yield self._delta({"type": "text_delta", "text": text})
            else:
                yield self._delta({"type": "thinking_delta", "thinking": text})

    def _close(self) -> Iterator[Document]:
        if self._open == "reasoning":
            # The signature is the vendor's; a model behind another dialect lacks it.
            yield self._delta({"type": "signature_delta", "signature": ""})
        if self._open is not None:
            self._open = None
            yield self._stop()

    def _call(self, answer: ModelAnswer, place: int, piece: int | None) -> Iterator[Document]:
        call = answer.calls[place]
        named = {"id": call_id(call, place, f"{answer.id}_" if answer.id else ""), "name": call.name}
        yield self._start({"type": "tool_use", **named, "input": {}})
        for part in ("", *pieces(call.arguments, piece)):
            yield self._delta({"type": "input_json_delta", "partial_json": part})
        yield self._stop()

    def _last(self, answer: ModelAnswer) -> list[Document]:
        usage = {} if answer.usage is None else {"usage": write_usage(answer)}
        return [{"type": "message_delta", "delta": write_end(answer), **usage}, {"type": "message_stop"}]

    def _failure(self, message: str, kind: str, code: str | None) -> list[Document]:
        return [write_error(message, kind, code=code)]

    def _start(self, block: Document) -> Document:
        self._index += 1
        return {"type": "content_block_start", "index": self._index, "content_block": block}

    def _delta(self, delta: Document) -> Document:
        return {"type": "content_block_delta", "index": self._index, "delta": delta}

    def _stop(self) -> Document:
        return {"type": "content_block_stop", "index": self._index}


def write_usage(answer: ModelAnswer) -> Document:
    """Return the tokens of an answer; the prompt's tokens exclude cached ones."""
    counts = answer.usage or {}
    cached = counts.get("cached_tokens") or 0
    prompt = counts.get("prompt_tokens")
    return {
        "input_tokens": prompt - cached if isinstance(prompt, int) else prompt,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": counts.get("completion_tokens"),
    }


def write_head(answer: ModelAnswer) -> Document:
    """Return the first fields of a message."""
    return {"id": f"msg_{answer.id}", "type": "message", "model": answer.model}


def write_end(answer: ModelAnswer) -> Document:
    """Return the fields that say why a message ended."""
    reason = answer.finish_reason
    # A message has no other place for the words of a refusal, for any finish reason.
    own = None if reason is None else "refusal" if answer.refusal else OWN_REASONS.get(reason, reason)
    end: Document = {"stop_reason": own, "stop_sequence": None}
    if own == "refusal":
        end["stop_details"] = {"type": "refusal", "category": None, "explanation": answer.refusal or None}
    return end


def write_message(answer: ModelAnswer) -> Document:
    """Return the role and the blocks of a message.

    Arguments of calls are objects. Other arguments stay as text, which no vendor's message has.
    """
    return {"role": "assistant", "content": write_blocks(answer, f"{answer.id}_" if answer.id else "")}


def write_answer(answer: ModelAnswer, request: ModelRequest, *, piece: int | None = PIECE) -> tuple[bytes, ...]:
    """Return the body of the response to a request, which is a message or its events."""
    if not request.stream:
        return (json.dumps(write_document(answer)).encode(),)
    events = MessagesWriter(answer, request).rest(answer, piece)
    return tuple(event_bytes(event, event["type"]) for event in events)


def write_document(answer: ModelAnswer) -> Document:
    """Return the message for a request that does not stream."""
    own = {name: value for name, value in answer.fields.items() if value is not None}
    document: Document = {**write_head(answer), **write_message(answer), **own, **write_end(answer)}
    if answer.usage is not None:
        document["usage"] = write_usage(answer)
    return document


open_writer = MessagesWriter
