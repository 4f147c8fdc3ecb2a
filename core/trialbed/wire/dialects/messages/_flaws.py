"""Ways in which vendors break the protocol of messages: each changes a right answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from trialbed.wire._events import event_bytes
from trialbed.wire._exchange import Document

MALFORMED_EVENT = b'event: content_block_delta\ndata: {"type": "content_block_delta", "delta"\n\n'
ERROR_EVENT = event_bytes(
    {"type": "error", "error": {"type": "api_error", "message": "the model failed"}, "request_id": None}, "error"
)

DocumentsChange = Callable[[list[Document]], list[Document]]
"""The changed events of a stream; a message that is not streamed is a list of one."""


def flawed_documents(documents: list[Document], flaw: str) -> list[Document]:
    """Return the documents with a flaw; flaws of bytes leave them as they are.

    Raises:
        LookupError: there is no such flaw.
    """
    if flaw and flaw not in FLAWS:
        raise LookupError(f"messages have no flaw {flaw!r}; they have {', '.join(sorted(FLAWS))}")
    change = OF_DOCUMENTS.get(flaw)
    return documents if change is None else change(documents)


def break_events(parts: tuple[bytes, ...], flaw: str) -> tuple[bytes, ...]:
    """Return the events of a stream with a flaw; flaws of documents leave them as they are."""
    event = ENDS.get(flaw)
    return parts if event is None else (*parts[: len(parts) // 2], event)


def _without_index(documents: list[Document]) -> list[Document]:
    return [{key: value for key, value in each.items() if key != "index"} for each in documents]


def _without_stop(documents: list[Document]) -> list[Document]:
    return [each for each in documents if each["type"] != "message_stop"]


def _null_message(documents: list[Document]) -> list[Document]:
    """Send no content: null in a document, no block in a stream, whose message begins with null."""
    whole = [each for each in documents if not each["type"].startswith("content_block")]
    return [_without_content(each) for each in whole]


def _without_content(document: Document) -> Document:
    if document["type"] == "message_start":
        return {**document, "message": {**document["message"], "content": None}}
    return {**document, "content": None} if document["type"] == "message" else document


OF_DOCUMENTS: Mapping[str, DocumentsChange] = MappingProxyType(
    {"no_done": _without_stop, "no_index": _without_index, "null_message": _null_message}
)
ENDS: Mapping[str, bytes] = MappingProxyType({"error_event": ERROR_EVENT, "malformed_event": MALFORMED_EVENT})
"""Flaw -> the event with which a stream ends in the middle."""

FLAWS = frozenset((*OF_DOCUMENTS, *ENDS))
"""The flaws with which an answer can be written; those of streams leave an answer as it is that is not streamed."""
