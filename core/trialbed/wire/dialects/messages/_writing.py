"""Writes messages of a model, as documents and as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator

from trialbed.wire._exchange import Document, ModelAnswer, ModelRequest
from trialbed.wire.dialects._flaws import write_typed
from trialbed.wire.dialects._values import PIECE, pieces
from trialbed.wire.dialects.messages._blocks import write_blocks
from trialbed.wire.dialects.messages._flaws import OWN_FLAWS

OWN_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
"""Canonical finish reason -> the dialect's own; others stay as they are."""


def write_message(answer: ModelAnswer) -> Document:
    """Return the role and the blocks of a message.

    Arguments of calls are objects; those that are none stand there as their text, which no vendor's message has.
    """
    return {"role": "assistant", "content": write_blocks(answer, f"{answer.id}_" if answer.id else "")}


def write_answer(
    answer: ModelAnswer, request: ModelRequest, flaw: str = "", *, piece: int | None = PIECE
) -> tuple[bytes, ...]:
    """Return the body of the response to a request: a message, or the events of one.

    Args:
        flaw: one of ``FLAWS``, or empty.
        piece: characters of text or arguments in one event; None sends each block in one.

    Raises:
        LookupError: there is no such flaw.
    """
    return write_typed(
        OWN_FLAWS,
        flaw,
        request,
        document=lambda: write_document(answer),
        events=lambda: write_events(answer, piece=piece),
    )


def write_document(answer: ModelAnswer) -> Document:
    """Return the message for a request that does not stream."""
    own = {name: value for name, value in answer.fields.items() if value is not None}
    document: Document = {**_head(answer), **write_message(answer), **own, **_end(answer)}
    if answer.usage is not None:
        document["usage"] = write_usage(answer)
    return document


def write_events(answer: ModelAnswer, *, piece: int | None = PIECE) -> list[Document]:
    """Return the events of a stream, in the order in which the vendor sends them."""
    unfinished = {"stop_reason": None, "stop_sequence": None}
    start = {**_head(answer), "role": "assistant", "content": [], **unfinished}
    usage = {} if answer.usage is None else {"usage": write_usage(answer)}
    if usage:
        start["usage"] = {**usage["usage"], "output_tokens": 0}
    events: list[Document] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(write_message(answer)["content"]):
        events += _block_events(index, block, answer, piece)
    return [*events, {"type": "message_delta", "delta": _end(answer), **usage}, {"type": "message_stop"}]


def write_usage(answer: ModelAnswer) -> Document:
    """Return the tokens of an answer; those of the prompt without the cached ones."""
    counts = answer.usage or {}
    cached = counts.get("cached_tokens") or 0
    prompt = counts.get("prompt_tokens")
    return {
        "input_tokens": prompt - cached if isinstance(prompt, int) else prompt,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": counts.get("completion_tokens"),
    }


def _block_events(index: int, block: Document, answer: ModelAnswer, piece: int | None) -> Iterator[Document]:
    kind = block["type"]
    if kind == "tool_use":
        place = index - sum(1 for _ in filter(None, (answer.reasoning, answer.text)))
        start = {**block, "input": {}}
        written = answer.calls[place].arguments
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in ("", *pieces(written, piece))]
    elif kind == "thinking":
        start = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": part} for part in pieces(block["thinking"], piece)]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    else:
        start = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": part} for part in pieces(block["text"], piece)]
    yield {"type": "content_block_start", "index": index, "content_block": start}
    yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
    yield {"type": "content_block_stop", "index": index}


def _head(answer: ModelAnswer) -> Document:
    return {"id": f"msg_{answer.id}", "type": "message", "model": answer.model}


def _end(answer: ModelAnswer) -> Document:
    reason = answer.finish_reason
    # A message has no other place for the words of a refusal, for whatever reason they end.
    own = None if reason is None else "refusal" if answer.refusal else OWN_REASONS.get(reason, reason)
    end: Document = {"stop_reason": own, "stop_sequence": None}
    if own == "refusal":
        end["stop_details"] = {"type": "refusal", "category": None, "explanation": answer.refusal or None}
    return end
