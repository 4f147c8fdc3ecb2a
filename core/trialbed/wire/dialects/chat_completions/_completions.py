"""Writes completions, as documents and as the chunks of a stream."""

from __future__ import annotations

from trialbed.wire._events import event_bytes
from trialbed.wire._exchange import Document, ModelAnswer, ModelRequest
from trialbed.wire.dialects._values import PIECE, pieces
from trialbed.wire.dialects.chat_completions._chunks import (
    ChunkWriter,
    write_call,
    write_choice,
    write_head,
    write_usage,
)
from trialbed.wire.dialects.chat_completions._flaws import DONE_EVENT, OWN_FLAWS, repeat_choices
from trialbed.wire.dialects.chat_completions._requests import is_raw


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


def write_answer(
    answer: ModelAnswer, request: ModelRequest, flaw: str = "", *, piece: int | None = PIECE
) -> tuple[bytes, ...]:
    """Return the body of the response to a request; ``[DONE]`` stands in the last part of a stream.

    Args:
        flaw: one of ``FLAWS``, or empty.
        piece: characters of text or arguments in one chunk; None sends the whole message in one.

    Raises:
        LookupError: there is no such flaw.
    """
    raw = is_raw(request.document)
    if not request.stream:
        return OWN_FLAWS.write_document(write_document(answer, raw=raw, choices=request.generation.choices), flaw)
    chunks = write_chunks(answer, raw=raw, piece=piece, with_usage=request.wants_usage)
    parts = [event_bytes(chunk) for chunk in OWN_FLAWS.change(repeat_choices(chunks, request.generation.choices), flaw)]
    return OWN_FLAWS.break_events((*parts[:-1], parts[-1] + DONE_EVENT), flaw)


def write_document(answer: ModelAnswer, *, raw: bool = False, choices: int = 1) -> Document:
    """Return the completion for a request that does not stream.

    Args:
        raw: whether it answers a raw prompt: its choice has a text instead of a message.
    """
    said = {"text": _raw_text(answer)} if raw else {"message": write_message(answer)}
    document = {**write_head(answer, "chat.completion"), "choices": [write_choice(answer, said, answer.finish_reason)]}
    if answer.usage is not None:
        document["usage"] = write_usage(answer.usage)
    return repeat_choices([document], choices)[0]


def write_chunks(
    answer: ModelAnswer, *, raw: bool = False, piece: int | None = PIECE, with_usage: bool = True
) -> list[Document]:
    """Return the chunks of a stream: the role, the pieces, the finish reason, the usage.

    Args:
        raw: whether it answers a raw prompt.
        piece: characters of text or arguments in one chunk; None sends the whole message in one.
        with_usage: whether the usage, where it is reported, comes in a last chunk without choices.
    """
    writer = ChunkWriter(answer, with_usage=with_usage)
    if not raw and piece is not None:
        return list(writer.rest(answer, piece))
    said: list[Document] = [{"delta": _whole_delta(answer)}]
    last: Document = {"delta": {}}
    if raw:
        text = _raw_text(answer)
        said = [{"text": part} for part in ([text] if piece is None else pieces(text, piece))]
        last = {"text": ""}
    return [*map(writer.chunk, said), *writer.ends(answer, last)]


def open_writer(head: ModelAnswer, request: ModelRequest) -> ChunkWriter:
    """Return a writer of the answer to a request, piece by piece."""
    return ChunkWriter(head, with_usage=request.wants_usage)


def _whole_delta(answer: ModelAnswer) -> Document:
    message = write_message(answer)
    if answer.calls:
        message["tool_calls"] = [{"index": number, **call} for number, call in enumerate(message["tool_calls"])]
    return message


def _raw_text(answer: ModelAnswer) -> str:
    """Return the text for a raw prompt, in which calls stand as Kimi's models write them."""
    text = answer.content or ""
    if not answer.calls:
        return text
    written = "".join(
        f"<|tool_call_begin|>functions.{call.name}:{place}<|tool_call_argument_begin|>{call.arguments}<|tool_call_end|>"
        for place, call in enumerate(answer.calls)
    )
    return f"{text}<|tool_calls_section_begin|>{written}<|tool_calls_section_end|>"
