"""Writes completions, as documents and as the chunks of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trialbed.wire._events import event_bytes
from trialbed.wire._exchange import Document, ModelAnswer, ModelRequest, TextKind, TokenLogprob
from trialbed.wire.dialects._fields import PIECE, mapping_of, pieces
from trialbed.wire.dialects._streams import AnswerWriter
from trialbed.wire.dialects.chat_completions._documents import read_choices, write_error

DONE_EVENT = b"data: [DONE]\n\n"
"""The event that ends a stream."""

FIELDS: dict[TextKind, str] = {"reasoning": "reasoning_content", "text": "content", "refusal": "refusal"}
"""Kind of a text -> its field."""

DETAILS = {"cached_tokens": "prompt_tokens_details", "reasoning_tokens": "completion_tokens_details"}
"""Tokens that are a part of others -> the object that holds them."""


class ChunkWriter(AnswerWriter):
    """Writes one completion, chunk by chunk; its usage, if the request asks for it, in a last chunk without choices."""

    def __init__(self, head: ModelAnswer, request: ModelRequest) -> None:
        super().__init__(head, request)
        self._fixed = write_head(head, "chat.completion.chunk")

    def chunk(self, said: Document, finish_reason: str | None = None) -> Document:
        """Return the chunk that says this."""
        return {**self._fixed, "choices": [write_choice(self._head, said, finish_reason)]}

    def ends(self, answer: ModelAnswer, said: Document) -> Iterator[Document]:
        """Yield the chunk with the finish reason, and the one with the usage."""
        yield self.chunk(said, answer.finish_reason)
        if self._request.wants_usage and answer.usage is not None:
            yield {**self._fixed, "choices": [], "usage": write_usage(answer.usage)}

    def _encode(self, events: Iterable[Document]) -> bytes:
        return b"".join(map(event_bytes, events))

    def _after(self) -> bytes:
        return DONE_EVENT

    def _begin(self, kind: str) -> list[Document]:
        return [self.chunk({"delta": {"role": "assistant", "content": "" if kind == "text" else None}})]

    def _part(self, kind: TextKind, texts: Iterable[str]) -> Iterator[Document]:
        field = FIELDS[kind]
        return (self.chunk({"delta": {field: text}}) for text in texts)

    def _call(self, answer: ModelAnswer, place: int, piece: int | None) -> Iterator[Document]:
        yield self.chunk({"delta": {"tool_calls": [{"index": place, **write_call(answer, place, "")}]}})
        for part in pieces(answer.calls[place].arguments, piece):
            yield self.chunk({"delta": {"tool_calls": [{"index": place, "function": {"arguments": part}}]}})

    def _last(self, answer: ModelAnswer) -> Iterator[Document]:
        return self.ends(answer, {"delta": {}})

    def _failure(self, message: str, kind: str, code: str | None) -> list[Document]:
        return [write_error(message, kind, code=code)]


def write_call(answer: ModelAnswer, number: int, arguments: str) -> Document:
    """Return a call; one without an id gets one."""
    call = answer.calls[number]
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id or f"call_{number}", "type": "function", "function": function}


def write_usage(counts: Mapping[str, Any]) -> Document:
    """Return the tokens of an answer, with parts of other counts in their details."""
    usage = {name: count for name, count in counts.items() if name not in DETAILS}
    for part, details in DETAILS.items():
        if part in counts:
            usage[details] = {**mapping_of(usage.get(details)), part: counts[part]}
    return usage


def write_choice(answer: ModelAnswer, said: Document, finish_reason: str | None) -> Document:
    """Return the choice that says this."""
    return {"index": 0, **said, "logprobs": _logprobs(answer.logprobs), "finish_reason": finish_reason}


def _logprobs(tokens: tuple[TokenLogprob, ...] | None) -> Document | None:
    if tokens is None:
        return None
    return {
        "content": [
            {**_token(token, logprob), "top_logprobs": [_token(*other) for other in alternatives]}
            for token, logprob, alternatives in tokens
        ]
    }


def _token(token: str, logprob: float) -> Document:
    return {"token": token, "logprob": logprob, "bytes": None}


def write_head(answer: ModelAnswer, kind: str) -> Document:
    """Return the fields next to the choices; ``kind`` is the object's kind."""
    head = {"id": f"chatcmpl-{answer.id}", "object": kind, "created": answer.created, "model": answer.model}
    return {**head, "system_fingerprint": answer.fingerprint} if answer.fingerprint else head


def write_message(answer: ModelAnswer) -> Document:
    """Return the assistant's message.

    Calls without an id get one: ``call_0``, ``call_1`` … Reasoning is sent as ``reasoning_content``.
    """
    message: Document = {"role": "assistant", "content": answer.content, **answer.fields}
    if answer.refusal:
        message["refusal"] = answer.refusal
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [write_call(answer, number, call.arguments) for number, call in enumerate(answer.calls)]
    return message


def write_answer(answer: ModelAnswer, request: ModelRequest, *, piece: int | None = PIECE) -> tuple[bytes, ...]:
    """Return the body of the response to a request; ``[DONE]`` stands in the last part of a stream.

    Args:
        piece: characters of text or arguments in one chunk; None sends the whole message in one.
    """
    choices = read_choices(request.document)
    if not request.stream:
        return (json.dumps(write_document(answer, raw="prompt" in request.document, choices=choices)).encode(),)
    chunks = write_chunks(answer, request, piece=piece)
    parts = [event_bytes(_repeat_choices(chunk, choices)) for chunk in chunks]
    return (*parts[:-1], parts[-1] + DONE_EVENT)


def write_document(answer: ModelAnswer, *, raw: bool = False, choices: int = 1) -> Document:
    """Return the completion for a request that does not stream.

    Args:
        raw: whether it answers a raw prompt: its choice has a text instead of a message.
    """
    said = {"text": _raw_text(answer)} if raw else {"message": write_message(answer)}
    document = {**write_head(answer, "chat.completion"), "choices": [write_choice(answer, said, answer.finish_reason)]}
    if answer.usage is not None:
        document["usage"] = write_usage(answer.usage)
    return _repeat_choices(document, choices)


def _repeat_choices(document: Document, number: int) -> Document:
    return {**document, "choices": [{**choice, "index": at} for at in range(number) for choice in document["choices"]]}


def write_chunks(answer: ModelAnswer, request: ModelRequest, *, piece: int | None = PIECE) -> list[Document]:
    """Return the chunks of a stream with the role, the pieces, the finish reason and the usage.

    Args:
        piece: characters of text or arguments in one chunk; None sends the whole message in one.
    """
    writer = ChunkWriter(answer, request)
    if "prompt" in request.document:
        said = [{"text": part} for part in pieces(_raw_text(answer), piece)]
        return [*map(writer.chunk, said), *writer.ends(answer, {"text": ""})]
    if piece is not None:
        return list(writer.rest(answer, piece))
    message = write_message(answer)
    if answer.calls:
        message["tool_calls"] = [{"index": number, **call} for number, call in enumerate(message["tool_calls"])]
    return [writer.chunk({"delta": message}), *writer.ends(answer, {"delta": {}})]


open_writer = ChunkWriter


def _raw_text(answer: ModelAnswer) -> str:
    """Return the text for a raw prompt, with calls in the format of Kimi's models."""
    text = answer.content or ""
    if not answer.calls:
        return text
    written = "".join(
        f"<|tool_call_begin|>functions.{call.name}:{place}<|tool_call_argument_begin|>{call.arguments}<|tool_call_end|>"
        for place, call in enumerate(answer.calls)
    )
    return f"{text}<|tool_calls_section_begin|>{written}<|tool_calls_section_end|>"
