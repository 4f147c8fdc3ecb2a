"""Faults of the wire: each changes the response, down to its bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from trialbed.wire import DONE_EVENT, event_bytes
from trialbed.wire.dialects import Dialect
from trialbed.wire.dialects.chat_completions import write_error
from trialbed_scripted._requests import ReceivedRequest
from trialbed_scripted._responses import EVENTS, JSON, Ending, Response, fail

if TYPE_CHECKING:
    from trialbed.records import ModelFault

Settings = Mapping[str, Any]
ResponseChange = Callable[[Response, ReceivedRequest, Settings], Response]
"""The changed response, from a right one, its request and the fault's settings."""

PAGE = "<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>"
BUSY = write_error("the model is overloaded", "server_error", code="500")
FAILED = write_error("the model failed", "server_error", code="500")

HALF = b'{"id": "chatcmpl-0", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assis'
EMPTY = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": "", "choices": []}


def always(response: Response) -> ResponseChange:
    """Give this response, whatever was right."""
    return lambda _right, _request, _settings: response


def status(_response: Response, _request: ReceivedRequest, settings: Settings) -> Response:
    """Answer with an HTTP error."""
    number = settings["status"]
    return fail(number, f"simulated status {number}", retry_after=settings["retry_after"])


def echo_key(_response: Response, request: ReceivedRequest, settings: Settings) -> Response:
    """Answer with an HTTP error that repeats the client's key."""
    number = settings["status"]
    return fail(number, f"simulated status {number} {request.headers.get('authorization', '')}".strip())


def empty(_response: Response, request: ReceivedRequest, _settings: Settings) -> Response:
    """Answer with an empty body."""
    return Response.text("", EVENTS if request.document.get("stream") else JSON)


def cut_short(response: Response, _request: ReceivedRequest, _settings: Settings) -> Response:
    """End properly, but in the middle."""
    return replace(response, parts=_first_half(response), sized=False)


def drop(ending: Ending) -> ResponseChange:
    """Drop the connection in the middle."""
    return lambda response, request, settings: replace(cut_short(response, request, settings), ending=ending)


def without_done(response: Response, _request: ReceivedRequest, _settings: Settings) -> Response:
    """Leave out ``[DONE]``."""
    return replace(response, parts=tuple(part.removesuffix(DONE_EVENT) for part in response.parts))


def event_midway(event: bytes) -> ResponseChange:
    """End a stream with this event, in the middle."""

    def end_midway(response: Response, request: ReceivedRequest, _: Settings) -> Response:
        if not request.document.get("stream"):
            return response
        return replace(response, parts=(*_first_half(response), event + DONE_EVENT))

    return end_midway


def as_text(response: Response, request: ReceivedRequest, _: Settings) -> Response:
    """Send a stream with the content type of a text."""
    return replace(response, content_type="text/plain") if request.document.get("stream") else response


def delay(response: Response, _: ReceivedRequest, settings: Settings) -> Response:
    """Send the response after some seconds."""
    return replace(response, wait=response.wait + settings["seconds"])


MALFORMED_EVENT = b'data: {"choices": [{"delta"\n\n'
ERROR_EVENT = event_bytes(FAILED)

ERRORS: Mapping[ModelFault, tuple[int, str, str]] = {
    "server_error": (500, "server_error", "The server had an error while processing your request."),
    "overloaded": (503, "overloaded_error", "The engine is currently overloaded, please try again later."),
    "rate_limit": (429, "rate_limit_error", "Rate limit reached for requests."),
}
"""Fault that is put in -> its status, type and message."""


def put_in(fault: ModelFault, spoken: Dialect) -> Response:
    """Return the response that the gateway gives in place of an answer."""
    if fault == "malformed":
        return Response((HALF,), sized=False)
    if fault == "empty":
        return Response.document(EMPTY)
    status, kind, message = ERRORS[fault]
    headers = {"Retry-After": "1"} if status == HTTPStatus.TOO_MANY_REQUESTS else {}
    return Response.document(spoken.write_error(message, kind, code=str(status)), status, headers)


def _first_half(response: Response) -> tuple[bytes, ...]:
    parts = response.parts
    return (parts[0][: len(parts[0]) // 2],) if len(parts) == 1 else parts[: len(parts) // 2]
