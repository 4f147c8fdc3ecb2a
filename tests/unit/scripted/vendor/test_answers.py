"""Right answers, and the turns that faults make of them."""

from __future__ import annotations

import json
import random
from typing import Any

from support.cases import for_each

from trialbed.wire import Call, ModelRequest
from trialbed.wire.dialects import dialect
from trialbed_scripted.vendor import decide_turn, usage_of
from trialbed_scripted.vendor._answers import solve_turn

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"required": ["city"]}}}
OTHER = {"type": "function", "function": {"name": "other"}}


def request(number: int = 0, **fields: Any) -> ModelRequest:
    messages = [{"role": "user", "content": f"q {number}"}]
    return dialect().read_request({"model": "m", "messages": messages, "tools": [TOOL], **fields})


def test_a_share_of_requests_gets_a_call_and_two_vendors_agree_on_which() -> None:
    found = [bool(decide_turn(request(number), 0.45).calls) for number in range(400)]
    assert found == [bool(decide_turn(request(number, model="other"), 0.45).calls) for number in range(400)]
    assert 140 < found.count(True) < 220
    assert all(decide_turn(request(number), 1.0).calls for number in range(9))


def test_an_inverted_decision_is_the_other_one() -> None:
    for number in range(20):
        usual, turned = (decide_turn(request(number), 0.45, inverted=inverted) for inverted in (False, True))
        assert bool(usual.calls) is not bool(turned.calls)


@for_each("tools", [None, [], "x", [5], [{"type": "function"}], [{"function": {"name": 5}}]])
def test_without_a_usable_tool_there_is_no_call(tools: Any) -> None:
    assert decide_turn(request(tools=tools), 1.0).calls == ()


FORMAT = {"type": "json_schema", "json_schema": {"schema": {"properties": {"a": {"const": 7}}, "required": ["a"]}}}


def test_right_answers_obey_their_request() -> None:
    assert decide_turn(request(tool_choice="none"), 1.0).calls == ()
    assert decide_turn(request(tool_choice="required"), 0.0).calls
    for number in range(9):
        (call,) = decide_turn(request(number, tools=[TOOL, OTHER], tool_choice=OTHER), 0.0).calls
        assert call.name == "other"
    assert decide_turn(request(response_format=FORMAT), 0.0).text == '{"a": 7}'
    assert json.loads(decide_turn(request(response_format={"type": "json_object"}), 0.0).text or "")
    cut = decide_turn(request(max_tokens=2), 0.0)
    assert (cut.text, cut.finish_reason, cut.usage and cut.usage["completion_tokens"]) == ("This nee", "length", 2)
    assert decide_turn(request(stop=["absent", " needs"]), 0.0).text == "This"


def test_known_answers_obey_their_request_too() -> None:
    known = {"calls": [{"name": "look", "arguments": {"city": "Oslo"}}, {"name": "look", "arguments": {}}]}
    right = solve_turn(known, request(), random.Random(0))
    assert right.calls == (Call("look", '{"city": "Oslo"}'), Call("look", "{}"))
    assert len(solve_turn(known, request(parallel_tool_calls=False), random.Random(0)).calls) == 1
    (other,) = solve_turn(known, request(tools=[TOOL, OTHER], tool_choice=OTHER), random.Random(0)).calls
    assert other.name == "other"
    (cut,) = solve_turn(known, request(max_tokens=2), random.Random(0)).calls
    assert cut == Call("look", '{"ci')
    assert solve_turn(known, request(), random.Random(0), inverted=True).calls == ()
    assert solve_turn({"text": "x"}, request(), random.Random(0), inverted=True).calls


def test_a_tool_that_cannot_be_called_rightly_is_not_called() -> None:
    impossible = {"type": "function", "function": {"name": "never", "parameters": {"enum": []}}}
    assert decide_turn(request(tools=[impossible]), 1.0).calls == ()
    for number in range(9):
        (call,) = decide_turn(request(number, tools=[impossible, TOOL]), 1.0).calls
        assert call.name == "look"


def test_usage_counts_what_is_said() -> None:
    said = decide_turn(request(), 0.0)
    assert usage_of(request(), said)["completion_tokens"] == len(said.text or "") // 4
