"""Reads the bodies that the wire log keeps of a request to the model."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

from trialbed.records import ModelCall
from trialbed.wire._exchange import ModelRequest
from trialbed.wire._json import parse_json
from trialbed.wire._readings import Reading
from trialbed.wire.dialects import CHAT, dialect

SHORT = 100_000
"""Characters of a body that is read once for all that look at its trial."""


def recorded_request(call: ModelCall) -> ModelRequest | None:
    """Return the request of a call, or None if its logged body is not a JSON object.

    All calls with the same body share it; do not change it.
    """
    read = _read_request if len(call.request) <= SHORT else _read_request.__wrapped__
    return read(call.request, call.dialect or CHAT)


@lru_cache(maxsize=64)
def _read_request(body: str, spoken: str) -> ModelRequest | None:
    try:
        document = parse_json(body if body.isascii() else body.encode(errors="replace"))
    except ValueError:
        return None
    return dialect(spoken).read_request(document) if isinstance(document, Mapping) else None


def recorded_answer(call: ModelCall) -> Reading:
    """Return the answer of a call, from the part that the log keeps."""
    read = _read_short if len(call.response) <= SHORT else read_response
    return read(call.dialect or CHAT, call.response, stream=call.stream and call.status == 200)


def read_response(spoken: str, body: bytes | str, names: Collection[str] = (), *, stream: bool) -> Reading:
    """Read the received body of a response with a status of success.

    Args:
        spoken: the name of its dialect.
        body: a text as the log keeps it, or bytes.
        names: the names of the tools on offer.
        stream: whether it is a stream of events instead of a document.
    """
    if isinstance(body, str):
        body = body.encode(errors="replace")
    if not stream:
        return dialect(spoken).read_body(body)
    reader = dialect(spoken).open_stream(names)
    reader.feed(body)
    return reader.end()


_read_short = lru_cache(maxsize=64)(read_response)


def read_served(spoken: str, body: bytes, request: ModelRequest, *, stream: bool) -> Reading:
    """Read a served answer. Some endpoints answer a request for a stream with a document."""
    return read_response(spoken, body, request.names, stream=stream and not body.lstrip().startswith(b"{"))


def recorded_error(call: ModelCall) -> str:
    """Return the message of a call's error response."""
    return dialect(call.dialect or CHAT).read_error(call.response)
