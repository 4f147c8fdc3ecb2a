"""Ways in which vendors break the protocol of messages: each changes a right answer."""

from __future__ import annotations

from trialbed.wire._events import event_bytes
from trialbed.wire._exchange import Document
from trialbed.wire.dialects._flaws import Flaws, end_with, without_events, without_fields

MALFORMED_EVENT = b'event: content_block_delta\ndata: {"type": "content_block_delta", "delta"\n\n'
ERROR_EVENT = event_bytes(
    {"type": "error", "error": {"type": "api_error", "message": "the model failed"}, "request_id": None}, "error"
)


def _null_message(documents: list[Document]) -> list[Document]:
    """Send no content: null in a document, no block in a stream, whose message begins with null."""
    whole = [each for each in documents if not each["type"].startswith("content_block")]
    return [_without_content(each) for each in whole]


def _without_content(document: Document) -> Document:
    if document["type"] == "message_start":
        return {**document, "message": {**document["message"], "content": None}}
    return {**document, "content": None} if document["type"] == "message" else document


OWN_FLAWS = Flaws(
    "messages",
    {"no_done": without_events("message_stop"), "no_index": without_fields("index"), "null_message": _null_message},
    {"error_event": end_with(ERROR_EVENT), "malformed_event": end_with(MALFORMED_EVENT)},
)
FLAWS = OWN_FLAWS.names
