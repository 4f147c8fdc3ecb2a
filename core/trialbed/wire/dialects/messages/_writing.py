"""Writes messages of a model, as documents and as the events of a stream."""

from __future__ import annotations

from trialbed.wire._exchange import Document, ModelAnswer, ModelRequest
from trialbed.wire.dialects._values import PIECE
from trialbed.wire.dialects.messages._blocks import write_blocks
from trialbed.wire.dialects.messages._events import MessagesWriter, write_end, write_head, write_usage
from trialbed.wire.dialects.messages._flaws import OWN_FLAWS


def write_message(answer: ModelAnswer) -> Document:
    """Return the role and the blocks of a message.

    Arguments of calls are objects; those that are none stand there as their text, which no vendor's message has.
    """
    return {"role": "assistant", "content": write_blocks(answer, f"{answer.id}_" if answer.id else "")}


def write_answer(
    answer: ModelAnswer, request: ModelRequest, flaw: str = "", *, piece: int | None = PIECE
) -> tuple[bytes, ...]:
    """Return the body of the response to a request: a message, or the events of one."""
    if not request.stream:
        return OWN_FLAWS.write_document(write_document(answer), flaw)
    return OWN_FLAWS.write_typed(MessagesWriter(answer).rest(answer, piece), flaw)


def write_document(answer: ModelAnswer) -> Document:
    """Return the message for a request that does not stream."""
    own = {name: value for name, value in answer.fields.items() if value is not None}
    document: Document = {**write_head(answer), **write_message(answer), **own, **write_end(answer)}
    if answer.usage is not None:
        document["usage"] = write_usage(answer)
    return document


def open_writer(head: ModelAnswer, request: ModelRequest) -> MessagesWriter:
    """Return a writer of the answer to a request, piece by piece."""
    del request
    return MessagesWriter(head)
