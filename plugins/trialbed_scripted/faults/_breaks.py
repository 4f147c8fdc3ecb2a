"""Faults of the wire. Each one changes the response, down to its bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from trialbed.wire import ModelAnswer
from trialbed.wire.dialects import Dialect
from trialbed_scripted._requests import ReceivedRequest
from trialbed_scripted._responses import EVENTS, JSON, Response, fail
from trialbed_scripted.faults._edits import EDITS, rewrite

if TYPE_CHECKING:
    from trialbed.records import ModelFault

Settings = Mapping[str, Any]
ResponseChange = Callable[[Response, ReceivedRequest, Settings], Response]
"""Returns the changed response, given a right response, its request and the fault's settings."""

PAGE = "<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>"
OVERLOADED = "the model is overloaded"


def html(_response: Response, _request: ReceivedRequest, _settings: Settings) -> Response:
    return Response.text(PAGE, "text/html")


def reset_before(_response: Response, _request: ReceivedRequest, _settings: Settings) -> Response:
    return Response(bare=True, ending="reset")


def close_before(_response: Response, _request: ReceivedRequest, _settings: Settings) -> Response:
    return Response(bare=True, ending="close")


def silent(_response: Response, _request: ReceivedRequest, _settings: Settings) -> Response:
    """Send nothing and keep the connection open."""
    return Response(bare=True, ending="never")


def status(_response: Response, request: ReceivedRequest, settings: Settings) -> Response:
    number = settings["status"]
    return fail(number, f"simulated status {number}", retry_after=settings["retry_after"], spoken=request.spoken)


def echo_key(_response: Response, request: ReceivedRequest, settings: Settings) -> Response:
    """Answer with an HTTP error that repeats the client's key."""
    number, sent = settings["status"], request.headers.get("authorization", "")
    return fail(number, f"simulated status {number} {sent}".strip(), spoken=request.spoken)


def error_body(_response: Response, request: ReceivedRequest, _settings: Settings) -> Response:
    """Answer with an error and a success status."""
    return Response.document(request.spoken.write_error(OVERLOADED, "server_error", code="500"))


def empty(_response: Response, request: ReceivedRequest, _settings: Settings) -> Response:
    return Response.text("", EVENTS if request.asked.stream else JSON)


def cut_short(response: Response, _request: ReceivedRequest, _settings: Settings) -> Response:
    """End properly, but in the middle of the body."""
    return replace(response, parts=_first_half(response), sized=False)


def reset_midstream(response: Response, _request: ReceivedRequest, _settings: Settings) -> Response:
    """Reset the connection in the middle of the body."""
    return replace(response, parts=_first_half(response), sized=False, ending="reset")


def cut_stream(response: Response, _request: ReceivedRequest, _settings: Settings) -> Response:
    """Close the connection in the middle of the body."""
    return replace(response, parts=_first_half(response), sized=False, ending="close")


def wrong_content_type(response: Response, request: ReceivedRequest, _: Settings) -> Response:
    """Send a stream with the content type of plain text."""
    return replace(response, content_type="text/plain") if request.asked.stream else response


def slow(response: Response, _: ReceivedRequest, settings: Settings) -> Response:
    return replace(response, wait=response.wait + settings["seconds"])


ERRORS: Mapping[ModelFault, tuple[int, str, str]] = {
    "server_error": (500, "server_error", "The server had an error while processing your request."),
    "overloaded": (503, "overloaded_error", "The engine is currently overloaded, please try again later."),
    "rate_limit": (429, "rate_limit_error", "Rate limit reached for requests."),
}
"""Maps injected faults to status, type and message."""


def put_in(fault: ModelFault, spoken: Dialect) -> Response:
    """Return the response that the gateway sends instead of an answer."""
    if fault in ("malformed", "empty"):
        right = Response.answer(ModelAnswer(content="", id="0", created=0), spoken.read_request({}), spoken)
        if fault == "malformed":
            return replace(right, parts=_first_half(right), sized=False)
        edit = EDITS.get(spoken.NAME, {}).get("no_choices")
        return right if edit is None else rewrite(right, edit)
    status, kind, message = ERRORS[fault]
    return fail(status, message, kind, retry_after=status == HTTPStatus.TOO_MANY_REQUESTS, spoken=spoken)


def _first_half(response: Response) -> tuple[bytes, ...]:
    parts = response.parts
    return (parts[0][: len(parts[0]) // 2],) if len(parts) == 1 else parts[: len(parts) // 2]
