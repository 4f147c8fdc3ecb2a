"""Ways in which vendors break the protocol of responses: each changes a right answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from trialbed.wire._events import event_bytes
from trialbed.wire._exchange import Document

ENDS = frozenset(("response.completed", "response.incomplete"))
"""Types of the events with which a stream ends."""

MALFORMED_EVENT = b'event: response.output_text.delta\ndata: {"type": "response.output_text.delta", "delta\n\n'
FAILED = {"code": "server_error", "message": "the model failed"}

DocumentsChange = Callable[[list[Document]], list[Document]]
"""The changed events of a stream; a response that is not streamed is a list of one."""


def flawed_documents(documents: list[Document], flaw: str) -> list[Document]:
    """Return the documents with a flaw; flaws of bytes leave them as they are.

    Raises:
        LookupError: there is no such flaw.
    """
    if flaw and flaw not in FLAWS:
        raise LookupError(f"responses have no flaw {flaw!r}; they have {', '.join(sorted(FLAWS))}")
    change = OF_DOCUMENTS.get(flaw)
    return documents if change is None else change(documents)


def break_events(parts: tuple[bytes, ...], flaw: str) -> tuple[bytes, ...]:
    """Return the events of a stream with a flaw; flaws of documents leave them as they are."""
    event = OF_EVENTS.get(flaw)
    return parts if event is None else (*parts[: len(parts) // 2], event)


def _without_index(documents: list[Document]) -> list[Document]:
    return [
        {key: value for key, value in each.items() if key not in ("output_index", "content_index")}
        for each in documents
    ]


def _without_end(documents: list[Document]) -> list[Document]:
    return [each for each in documents if each.get("type") not in ENDS]


def _null_message(documents: list[Document]) -> list[Document]:
    """Send null as the output, and no event of an item."""
    whole = [each for each in documents if "response" in each or "output" in each]
    return [
        {**each, "response": {**each["response"], "output": None}} if "response" in each else {**each, "output": None}
        for each in whole
    ]


def _error_event() -> bytes:
    error = {"type": "error", **FAILED, "param": None, "sequence_number": 0}
    failed = {"type": "response.failed", "response": {"object": "response", "status": "failed", "error": FAILED}}
    return event_bytes(error, "error") + event_bytes({**failed, "sequence_number": 1}, "response.failed")


OF_DOCUMENTS: Mapping[str, DocumentsChange] = MappingProxyType(
    {"no_done": _without_end, "no_index": _without_index, "null_message": _null_message}
)
OF_EVENTS: Mapping[str, bytes] = MappingProxyType({"error_event": _error_event(), "malformed_event": MALFORMED_EVENT})
"""Flaw -> the events with which a stream ends in the middle."""

FLAWS = frozenset((*OF_DOCUMENTS, *OF_EVENTS))
"""The flaws with which an answer can be written; those of streams leave an answer as it is that is not streamed."""
