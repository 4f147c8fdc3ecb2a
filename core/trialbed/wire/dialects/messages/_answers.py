"""Messages of a model, and errors, read and written as JSON documents and as streams."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from trialbed.wire._events import event_bytes
from trialbed.wire._exchange import Call, Document, ModelAnswer, ModelRequest, TextKind
from trialbed.wire._readings import Problem, read_document
from trialbed.wire.dialects._fields import PIECE, counts_of, mapping_of, pieces, text_of
from trialbed.wire.dialects._streams import AnswerWriter, StreamPart, TypedStream
from trialbed.wire.dialects.messages._requests import call_id, read_blocks, write_blocks, write_input

OF_STATUS = {
    "400": "invalid_request_error",
    "401": "authentication_error",
    "402": "billing_error",
    "403": "permission_error",
    "404": "not_found_error",
    "409": "conflict_error",
    "413": "request_too_large",
    "429": "rate_limit_error",
    "500": "api_error",
    "502": "api_error",
    "503": "overloaded_error",
    "504": "timeout_error",
    "529": "overloaded_error",
}
"""Status -> the type of its error."""

OF_CODE = {"model_not_found": "not_found_error"}

KINDS = frozenset(OF_STATUS.values())


def write_error(message: str, kind: str, *, code: str | None = None) -> Document:
    """Return an error for Anthropic's clients.

    Args:
        kind: its type; a type of another dialect is replaced by the type of its status.
        code: the status, or a code of its own, which goes into the details.
    """
    status = code is not None and code.isdecimal()
    found = OF_CODE.get(code or "") or (kind if kind in KINDS and not status else OF_STATUS.get(code or "", ""))
    error: Document = {"type": found or "api_error", "message": message}
    if code is not None and not status:
        error["details"] = {"error_code": code}
    return {"type": "error", "error": error, "request_id": None}


REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
"""The dialect's name for the end of a message -> its canonical name."""


def read_answer(document: Document | None, written: Mapping[int, str] | None = None) -> ModelAnswer:
    """Read the answer in a message; without content its ``source`` is None.

    Args:
        written: place of a block -> the arguments of its call as the model wrote them, if a stream shows them.
    """
    found = document or {}
    content = found.get("content")
    said = read_blocks(content, written)
    reason = canonical_reason(found.get("stop_reason"))
    details = mapping_of(found.get("stop_details"))
    return ModelAnswer.of(
        said,
        model=text_of(found.get("model")),
        id=text_of(found.get("id")).removeprefix("msg_"),
        created=0,
        finish_reason=reason,
        usage=read_usage(found.get("usage")),
        refusal=text_of(details.get("explanation")) if details.get("type") == "refusal" else "",
        source={"role": "assistant", "content": content} if isinstance(content, list) else None,
    )


def canonical_reason(reason: Any) -> str | None:
    """Return the canonical name of the reason a message ends, which may be None."""
    return REASONS.get(reason, reason) if isinstance(reason, str) and reason else None


def read_usage(usage: Any) -> dict[str, int] | None:
    """Return the tokens of a message by their canonical names; the prompt's tokens include cached ones.

    A message must have a usage. All zeros, which no prompt has, mean that it was not reported.
    """
    found = mapping_of(usage)
    counts = counts_of(found)
    tokens: dict[str, int] = {}
    if "input_tokens" in counts:
        read, made = counts.get("cache_read_input_tokens", 0), counts.get("cache_creation_input_tokens", 0)
        tokens["prompt_tokens"] = counts["input_tokens"] + read + made
    if "output_tokens" in counts:
        tokens["completion_tokens"] = counts["output_tokens"]
    if len(tokens) > 1:
        tokens["total_tokens"] = sum(tokens.values())
    if "cache_read_input_tokens" in counts:
        tokens["cached_tokens"] = counts["cache_read_input_tokens"]
    return tokens if any(tokens.values()) else None


def problem_of(document: Document) -> Problem | None:
    """Return why a message is not an answer; None if it is one."""
    if document.get("type") == "error" or document.get("error"):
        return Problem("error_body", "the body reports an error", mapping_of(document.get("error")).get("type"))
    if not isinstance(document.get("content"), list):
        return Problem("null_message", "the message has no list of blocks as its content")
    if not text_of(document.get("stop_reason")):
        return Problem("no_finish_reason", "the message has no stop_reason")
    return None


read_body = partial(read_document, read_answer, problem_of)


PARTIAL = "partial_json"

DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": PARTIAL,
}
"""Type of a delta -> its field, which the block has too, except for arguments."""


class MessagesStreamReader(TypedStream):
    """Reads one stream from bytes that may be cut anywhere.

    Args:
        names: of the tools on offer, which need no help here: a call's name comes whole.
    """

    ENDS = frozenset(("message_stop",))
    KINDS: Mapping[str, TextKind] = MappingProxyType({"text": "text", "thinking": "reasoning"})
    UNKNOWN: Mapping[str, str] = MappingProxyType({"type": "text"})

    def __init__(self, names: Collection[str] = ()) -> None:
        del names
        super().__init__(self._answer, problem_of)
        self._message: Document = {}
        self._end: Document = {}
        self._usage: Document = {}

    def _add(self, kind: str, event: Mapping[str, Any]) -> bool:
        if kind == "message_start":
            self._message = dict(mapping_of(event.get("message")))
            self._usage |= mapping_of(self._message.get("usage"))
        elif kind == "content_block_start":
            block = self._begin(event, mapping_of(event.get("content_block")))
            for field in DELTAS.values():
                if text := text_of(block.first.get(field)):
                    block.texts[field] = [text]
                    self._tell(field, text)
            return bool(block.first.get("text") or block.first.get("input"))
        elif kind == "content_block_delta":
            delta = mapping_of(event.get("delta"))
            field = DELTAS.get(str(delta.get("type")), "")
            return self._extend(event, field, text_of(delta.get(field))) and field != "signature"
        elif kind == "message_delta":
            self._end |= mapping_of(event.get("delta"))
            self._usage |= {name: value for name, value in mapping_of(event.get("usage")).items() if value is not None}
            self._finished = canonical_reason(self._end.get("stop_reason")) is not None
        return False

    def _document(self) -> Document:
        blocks = [_block(self._parts[place]) for place in sorted(self._parts)]
        content = blocks if blocks or isinstance(self._message.get("content"), list) else None
        usage = self._usage or None
        return {**self._message, "content": content, **self._end, "usage": usage}

    def _answer(self, document: Document) -> ModelAnswer:
        ordered = (_arguments(self._parts[place]) for place in sorted(self._parts))
        return read_answer(document, {place: arguments for place, arguments in enumerate(ordered) if arguments})


def _arguments(part: StreamPart) -> str:
    return "".join(part.texts.get(PARTIAL, ()))


def _block(part: StreamPart) -> Document:
    """Return a block in the form of a message that is not streamed; arguments that are not an object stay text."""
    texts = {field: "".join(pieces) for field, pieces in part.texts.items() if field != PARTIAL}
    whole = {**part.first, **texts}
    if arguments := _arguments(part):
        whole["input"] = write_input(Call("", arguments))
    return whole


open_stream = MessagesStreamReader


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
