from __future__ import annotations

import json

from trialbed_adapter_lab.harness import FAULTY_ANSWERS
from trialbed_scripted import ReceivedRequest, Turn


def test_calls_are_of_a_tool_on_offer() -> None:
    tools = [{"type": "function", "function": {"name": "weather"}}]
    turn = FAULTY_ANSWERS["arguments that are a list"](ReceivedRequest(0, {"tools": tools}))
    assert isinstance(turn, Turn)
    (call,) = turn.calls
    assert call.name == "weather"
    assert json.loads(call.arguments) == [1]
