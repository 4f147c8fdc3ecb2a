"""Writes responses, as documents and as the events of a stream."""

from __future__ import annotations

from trialbed.wire._exchange import Document, ModelAnswer, ModelRequest
from trialbed.wire.dialects._values import PIECE
from trialbed.wire.dialects.responses._documents import is_cut, item_identity, write_whole
from trialbed.wire.dialects.responses._events import ResponsesWriter
from trialbed.wire.dialects.responses._flaws import OWN_FLAWS
from trialbed.wire.dialects.responses._items import write_items


def write_message(answer: ModelAnswer) -> Document:
    """Return the items of an answer."""
    return {"output": write_items(answer, item_identity(answer))}


def write_answer(
    answer: ModelAnswer, request: ModelRequest, flaw: str = "", *, piece: int | None = PIECE
) -> tuple[bytes, ...]:
    """Return the body of the response to a request: a document, or its events."""
    if not request.stream:
        return OWN_FLAWS.write_document(write_document(answer, request), flaw)
    return OWN_FLAWS.write_typed(ResponsesWriter(answer, request).rest(answer, piece), flaw)


def write_document(answer: ModelAnswer, request: ModelRequest) -> Document:
    """Return the response, which repeats the settings of its request."""
    status = "incomplete" if is_cut(answer) else "completed"
    return write_whole(answer, request, write_items(answer, item_identity(answer), status))


def open_writer(head: ModelAnswer, request: ModelRequest) -> ResponsesWriter:
    """Return a writer of the answer to a request, piece by piece."""
    return ResponsesWriter(head, request)
