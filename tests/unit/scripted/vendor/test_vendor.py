"""A simulated vendor: right answers, known answers and decisions that are turned round."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed.wire import Call, ModelRequest
from trialbed.wire.dialects import dialect
from trialbed.wire.dialects.chat_completions import read_request
from trialbed_scripted import ReceivedRequest
from trialbed_scripted.vendor import SimulatedVendor, Solutions, decide_turn, solve_turn, usage_of

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


LOOK = {"type": "function", "function": {"name": "look"}}
MESSAGES = [{"role": "_input", "content": "a"}, {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}]


def test_an_answer_is_known_however_the_request_is_sent(tmp_path: Path) -> None:
    line = {"messages": MESSAGES, "stream": True, "suite": {"answer": {"text": "b"}}}
    (tmp_path / "set.jsonl").write_text(json.dumps(line) + "\n\n" + json.dumps({"messages": []}) + "\n")
    known = Solutions.read(str(tmp_path / "set.jsonl"))
    adapted = [{**MESSAGES[0], "role": "system"}, {**MESSAGES[1], "reasoning_content": " "}]
    assert known.of(read_request({"messages": adapted, "model": "m", "temperature": 0})) == {"text": "b"}
    assert known.of(read_request({"messages": adapted, "tools": [LOOK]})) is None
    assert known.of(read_request({"messages": "x"})) is None
    assert known.of(read_request({"prompt": "x"})) is None


def test_a_file_without_answers_is_named(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text('{"messages": []}\n')
    with pytest.raises(UsageError, match="no line has an answer"):
        Solutions.read(str(tmp_path / "set.jsonl"))
    (tmp_path / "set.jsonl").write_text("{\n")
    with pytest.raises(UsageError, match="line 1: not JSON"):
        Solutions.read(str(tmp_path / "set.jsonl"))
    with pytest.raises(UsageError, match="cannot be read"):
        Solutions.read(str(tmp_path / "none.jsonl"))
    assert Solutions.read("").of(read_request({"messages": []})) is None


def asked(number: int, attempt: int) -> ReceivedRequest:
    document = {"messages": [{"role": "user", "content": f"q {number}"}], "tools": [LOOK]}
    return ReceivedRequest(number, document, json.dumps(document).encode(), attempt=attempt)


def test_decisions_are_turned_round_for_all_or_for_some() -> None:
    requests = [asked(number, attempt) for number in range(100) for attempt in range(2)]
    usual = [bool(SimulatedVendor()(request).calls) for request in requests]

    def turned(**answers: Any) -> int:
        vendor = SimulatedVendor(answers)
        return sum(bool(vendor(request).calls) is not calls for request, calls in zip(requests, usual, strict=True))

    assert (turned(), turned(invert=True)) == (0, 200)
    assert 20 < turned(flips=0.25) < 80
    assert 120 < turned(flips=0.25, invert=True) < 180


def test_each_answer_has_an_id_of_its_own() -> None:
    assert len({SimulatedVendor()(asked(number, attempt)).id for number in range(3) for attempt in range(2)}) == 6
