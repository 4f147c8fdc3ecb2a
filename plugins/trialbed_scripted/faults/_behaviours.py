"""Faults of a model. Each one changes a turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from trialbed.wire import Call, ModelRequest, lenient_json
from trialbed_scripted._turns import ModelTurn
from trialbed_scripted.vendor import LETTERS, possible_calls, spare_call, usage_of

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
