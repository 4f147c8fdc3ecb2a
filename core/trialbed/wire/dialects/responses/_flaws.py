"""Ways in which vendors break the protocol of responses: each changes a right answer."""

from __future__ import annotations

from trialbed.wire._events import event_bytes
from trialbed.wire._exchange import Document
from trialbed.wire.dialects._flaws import Flaws, end_with, without_events, without_fields

ENDS = frozenset(("response.completed", "response.incomplete"))
"""Types of the events with which a stream ends."""

MALFORMED_EVENT = b'event: response.output_text.delta\ndata: {"type": "response.output_text.delta", "delta\n\n'
FAILED = {"code": "server_error", "message": "the model failed"}


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


OWN_FLAWS = Flaws(
    "responses",
    {
        "no_done": without_events(*ENDS),
        "no_index": without_fields("output_index", "content_index"),
        "null_message": _null_message,
    },
    {"error_event": end_with(_error_event()), "malformed_event": end_with(MALFORMED_EVENT)},
)
FLAWS = OWN_FLAWS.names
