from __future__ import annotations

import json
from typing import Any

import pytest

from trialbed.wire.dialects.chat_completions import Completion, read_body, read_stream
from trialbed_scripted.faults import FAULTS, Fault, FaultScript
from trialbed_scripted.faults._answers import right_answer
from trialbed_scripted.faults._changes import changed, changed_chunks, changed_document

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"required": ["city"]}}}


def request(number: int = 0, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": f"q {number}"}], "tools": [TOOL], **fields}


def streamed(completion: Completion) -> dict[str, Any]:
    response = read_stream(b"".join(completion.events()), ("look", "lookup")).response
    assert response is not None
    return response


def test_a_share_of_requests_gets_a_call_and_two_vendors_agree_on_which() -> None:
    found = [right_answer(request(number), 0.45).finish_reason for number in range(400)]
    assert found == [right_answer(request(number, model="other"), 0.45).finish_reason for number in range(400)]
    assert 140 < found.count("tool_calls") < 220
    assert {right_answer(request(number), 1.0).finish_reason for number in range(9)} == {"tool_calls"}


def test_an_inverted_decision_is_the_other_one() -> None:
    for number in range(20):
        usual, turned = (right_answer(request(number), 0.45, inverted=inverted) for inverted in (False, True))
        assert {usual.finish_reason, turned.finish_reason} == {"tool_calls", "stop"}


@pytest.mark.parametrize("tools", [None, [], "x", [5], [{"type": "function"}], [{"function": {"name": 5}}]])
def test_without_a_usable_tool_there_is_no_call(tools: Any) -> None:
    assert right_answer(request(tools=tools), 1.0).finish_reason == "stop"


def test_a_stream_and_a_document_say_the_same() -> None:
    for answer in (right_answer(request(), 1.0), right_answer(request(), 0.0)):
        completion = answer.completion()
        ours, theirs = streamed(completion), completion.document()
        assert ours["choices"][0]["finish_reason"] == theirs["choices"][0]["finish_reason"]
        assert ours["choices"][0]["message"].get("tool_calls") == theirs["choices"][0]["message"].get("tool_calls")
        assert ours["usage"] == theirs["usage"]


def test_a_raw_completion_is_text_and_its_calls_stand_in_it() -> None:
    completion = changed(right_answer({"model": "m", "prompt": "p"}, 1.0), Fault("unknown_tool")).completion()
    text = completion.document()["choices"][0]["text"]
    assert "<|tool_call_begin|>functions.tool_that_was_not_offered:0<|tool_call_argument_begin|>{}" in text
    assert streamed(completion)["choices"][0]["message"]["content"] == text


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("asked", [request(), {"model": "m", "prompt": "p"}])
def test_every_fault_can_be_done_to_every_answer(name: str, asked: dict[str, Any]) -> None:
    fault = FaultScript.read(name).fault(b"", 0)
    for share in (0.0, 1.0):
        completion = changed(right_answer(asked, share), fault).completion()
        body = json.dumps(changed_document(completion.document(), fault)).encode()
        read_body(body, "application/json")
        assert isinstance(changed_chunks(completion.chunks(), fault), list)


FORMAT = {"type": "json_schema", "json_schema": {"schema": {"properties": {"a": {"const": 7}}, "required": ["a"]}}}


def test_right_answers_obey_their_request() -> None:
    other = {"type": "function", "function": {"name": "other"}}
    both = [TOOL, other]
    assert right_answer(request(tool_choice="none"), 1.0).finish_reason == "stop"
    assert right_answer(request(tool_choice="required"), 0.0).finish_reason == "tool_calls"
    for number in range(9):
        (call,) = right_answer(request(number, tools=both, tool_choice=other), 0.0).calls
        assert call.name == "other"
    assert right_answer(request(response_format=FORMAT), 0.0).text == '{"a": 7}'
    assert json.loads(right_answer(request(response_format={"type": "json_object"}), 0.0).text)
    cut = right_answer(request(max_tokens=2), 0.0)
    assert (cut.text, cut.finish_reason, cut.usage and cut.usage["completion_tokens"]) == ("This nee", "length", 2)
    assert right_answer(request(stop=["absent", " needs"]), 0.0).text == "This"


def test_a_tool_that_cannot_be_called_rightly_is_not_called() -> None:
    impossible = {"type": "function", "function": {"name": "never", "parameters": {"enum": []}}}
    assert right_answer(request(tools=[impossible]), 1.0).finish_reason == "stop"
    for number in range(9):
        (call,) = right_answer(request(number, tools=[impossible, TOOL]), 1.0).calls
        assert call.name == "look"
