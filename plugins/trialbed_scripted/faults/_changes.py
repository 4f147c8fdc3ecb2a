"""Faults as functions: those of a model change a turn, those of the wire change the response down to its bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from trialbed.wire import Call, ModelAnswer, ModelRequest, lenient_json
from trialbed.wire.dialects import Dialect
from trialbed_scripted._scripts import EVENTS, JSON, ModelTurn, ReceivedRequest, Response, fail
from trialbed_scripted.faults._edits import EDITS, rewrite
from trialbed_scripted.vendor import LETTERS, possible_calls, spare_call, usage_of

if TYPE_CHECKING:
    from trialbed.records import ModelFault


UNKNOWN = "tool_that_was_not_offered"
REASONING = "Let me think about what is asked for here."

Settings = Mapping[str, Any]

TurnChange = Callable[[ModelTurn, ModelRequest, Settings], ModelTurn]
"""Returns the changed turn, given a right turn, its request and the fault's settings."""


def with_usage(change: TurnChange) -> TurnChange:
    """Recompute the usage of a changed turn."""

    def change_and_count(turn: ModelTurn, request: ModelRequest, settings: Settings) -> ModelTurn:
        found = change(turn, request, settings)
        if found is turn or found.usage is None:
            return found
        return replace(found, usage=usage_of(request, found))

    return change_and_count


def make_calls(turn: ModelTurn, request: ModelRequest, number: int = 1) -> ModelTurn:
    """Repeat each call of the turn this many times. A turn without calls gets one."""
    return replace(turn, text="", calls=(turn.calls or (spare_call(request),)) * number, finish_reason="")


def two_calls(turn: ModelTurn, request: ModelRequest, _: Settings) -> ModelTurn:
    """Make each call twice."""
    return make_calls(turn, request, 2)


def unknown_tool(turn: ModelTurn, request: ModelRequest, _: Settings) -> ModelTurn:
    made = make_calls(turn, request)
    return replace(made, calls=tuple(Call(UNKNOWN, call.arguments) for call in made.calls))


def bad_arguments(turn: ModelTurn, request: ModelRequest, _: Settings) -> ModelTurn:
    made = make_calls(turn, request)
    return replace(made, calls=tuple(Call(call.name, '{"broken": ') for call in made.calls))


def calls_with_stop(turn: ModelTurn, request: ModelRequest, _: Settings) -> ModelTurn:
    return replace(make_calls(turn, request), finish_reason="stop")


def finish(turn: ModelTurn, _request: ModelRequest, settings: Settings) -> ModelTurn:
    return replace(turn, finish_reason=settings["reason"])


def no_finish_reason(turn: ModelTurn, _request: ModelRequest, _settings: Settings) -> ModelTurn:
    return replace(turn, finish_reason=None)


def null_usage(turn: ModelTurn, _request: ModelRequest, _settings: Settings) -> ModelTurn:
    return replace(turn, usage={**(turn.usage or {}), "completion_tokens": None})


def reasoning(turn: ModelTurn, _request: ModelRequest, _settings: Settings) -> ModelTurn:
    """Think before the answer."""
    return replace(turn, reasoning=REASONING)


@with_usage
def wrong_tool(turn: ModelTurn, request: ModelRequest, _: Settings) -> ModelTurn:
    """Call another tool, if there is one."""
    right = {call.name for call in turn.calls}
    others = [call for call in possible_calls(request) if call.name not in right]
    return _call_instead(turn, others[0]) if turn.calls and others else turn


@with_usage
def never_calls(turn: ModelTurn, _request: ModelRequest, _settings: Settings) -> ModelTurn:
    """Send a text instead of calls."""
    if not turn.calls:
        return turn
    return replace(turn, calls=(), text=turn.text or turn.instead, finish_reason="")


@with_usage
def always_calls(turn: ModelTurn, request: ModelRequest, _: Settings) -> ModelTurn:
    """Make a call instead of a text, if one can be made."""
    return turn if turn.calls or not possible_calls(request) else _call_instead(turn, spare_call(request))


@with_usage
def leaks(turn: ModelTurn, _: ModelRequest, settings: Settings) -> ModelTurn:
    """End the text with a mark of the chat template."""
    return replace(turn, text=f"{turn.text or ''}{settings['marker']}")


@with_usage
def lossy_arguments(turn: ModelTurn, _request: ModelRequest, _settings: Settings) -> ModelTurn:
    """Turn all values of arguments into strings."""
    return replace(turn, calls=tuple(Call(call.name, _flatten(call.arguments)) for call in turn.calls))


@with_usage
def forgetful(turn: ModelTurn, request: ModelRequest, settings: Settings) -> ModelTurn:
    """Make no calls from a turn of the conversation on."""
    turns = sum(message.role == "user" for message in request.messages)
    return never_calls(turn, request, settings) if turns >= settings["turns"] else turn


@with_usage
def short_context(turn: ModelTurn, request: ModelRequest, settings: Settings) -> ModelTurn:
    """Call only tools that stand within a number of tokens."""
    left, seen = settings["tokens"] * LETTERS, set()
    for tool in request.tools:
        left -= len(json.dumps(tool.source or [tool.name, tool.description, tool.parameters]))
        if left < 0:
            break
        seen.add(tool.name)
    if all(call.name in seen for call in turn.calls):
        return turn
    known = [call for call in possible_calls(request) if call.name in seen]
    return _call_instead(turn, known[0]) if known else never_calls(turn, request, settings)


def _call_instead(turn: ModelTurn, call: Call) -> ModelTurn:
    return replace(turn, calls=(call,), text="", finish_reason="")


def _flatten(arguments: str) -> str:
    value = lenient_json(arguments)
    if not isinstance(value, dict):
        return arguments
    flat = {name: item if isinstance(item, str) else json.dumps(item) for name, item in value.items()}
    return json.dumps(flat, ensure_ascii=False)


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
