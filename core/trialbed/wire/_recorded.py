"""Reads the bodies that the wire log keeps of a request to the model."""

from __future__ import annotations

from collections.abc import Mapping

from trialbed.records import ModelCall
from trialbed.wire._exchange import ModelRequest
from trialbed.wire._json import parse_json
from trialbed.wire._readings import Reading
from trialbed.wire.dialects import CHAT, Dialect, dialect


def recorded_request(call: ModelCall) -> ModelRequest | None:
    """The request of a call; None where its body, as far as the log keeps it, is not a JSON object."""
    try:
        document = parse_json(call.request.encode(errors="replace"))
    except ValueError:
        return None
    return _spoken(call).read_request(document) if isinstance(document, Mapping) else None


def recorded_answer(call: ModelCall) -> Reading:
    """The answer of a call, as far as the log keeps it."""
    body = call.response.encode(errors="replace")
    if not call.stream or call.status != 200:
        return _spoken(call).read_body(body)
    reader = _spoken(call).open_stream(())
    reader.feed(body)
    return reader.end()


def read_served(spoken: str, body: bytes, request: ModelRequest, *, stream: bool) -> Reading:
    """Read an answer to a request as it was served; ``spoken``: the name of their dialect."""
    if not stream or body.lstrip().startswith(b"{"):
        return dialect(spoken).read_body(body)
    reader = dialect(spoken).open_stream(request.names)
    reader.feed(body)
    return reader.end()


def recorded_error(call: ModelCall) -> str:
    """Return the words of the error with which a call was answered."""
    return _spoken(call).read_error(call.response)


def _spoken(call: ModelCall) -> Dialect:
    return dialect(call.dialect or CHAT)
