"""The order and the parts of a trial's exchanges."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from trialbed.records import ApiCall, ApiRef, ModelCall, WireLog
from trialbed.report.inspection import ModelExchange, RequestMessage, ToolExchange, exchanges

TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
FIRST = {"role": "user", "content": "Where is it?"}
ASKED = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]}


def model_call(started: float, request: Any, message: Any = None, **more: Any) -> ModelCall:
    response = "" if message is None else json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
    text = request if isinstance(request, str) else json.dumps(request)
    return ModelCall(
        started=started,
        duration=0.1,
        status=200,
        stream=False,
        request=text,
        request_bytes=len(text),
        response_bytes=0,
        **({"response": response} | more),
    )


def log(**calls: Any) -> WireLog:
    return WireLog(trial="t", opened_at=datetime(2026, 1, 1, tzinfo=UTC), **calls)


def api_call(started: float) -> ApiCall:
    api = ApiRef(category="Places", tool_name="Map", api_name="look")
    return ApiCall(started=started, duration=0.1, status=200, api=api, offered=True, arguments={}, response="there")


def test_they_stand_in_the_order_in_which_they_began_and_count_from_the_first() -> None:
    wire = log(model_calls=(model_call(10.0, {}), model_call(10.5, {})), api_calls=(api_call(10.25),))
    found = exchanges(wire)
    assert [(type(one), one.place, one.at) for one in found] == [
        (ModelExchange, 1, 0.0),
        (ToolExchange, 1, 0.25),
        (ModelExchange, 2, 0.5),
    ]


def test_a_request_shows_what_no_earlier_one_had() -> None:
    first = model_call(0.0, {"messages": [FIRST], "tools": TOOLS}, {"content": "I look."})
    second = model_call(1.0, {"messages": [FIRST, ASKED], "tools": TOOLS}, {"content": "Here.", "reasoning": "Hm."})
    one, two = exchanges(log(model_calls=(first, second)))
    assert isinstance(one, ModelExchange)
    assert isinstance(two, ModelExchange)
    assert (one.known, one.messages, one.offered, one.text) == (
        0,
        (RequestMessage("user", "Where is it?"),),
        ("look",),
        "I look.",
    )
    assert (two.known, two.messages, two.offered) == (1, (RequestMessage("assistant", "", (("look", "{}"),)),), None)
    assert (two.text, two.thoughts, two.unread) == ("Here.", "Hm.", "")


def test_what_cannot_be_read_is_kept_as_it_came() -> None:
    (one,) = exchanges(log(model_calls=(model_call(0.0, "not json", response="nor this"),)))
    assert isinstance(one, ModelExchange)
    assert (one.known, one.messages, one.offered, one.unread) == (None, (), None, "nor this")


def test_messages_of_other_shapes_are_shown_too() -> None:
    parts = {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}
    (one,) = exchanges(log(model_calls=(model_call(0.0, {"messages": ["bare", parts, {"tool_calls": [{}]}]}),)))
    assert isinstance(one, ModelExchange)
    assert one.messages == (
        RequestMessage("message", "bare"),
        RequestMessage("user", 'a\n{"type": "image_url"}'),
        RequestMessage("?", "", (("?", ""),)),
    )


def test_a_trial_without_exchanges_has_none() -> None:
    assert exchanges(log()) == ()
