"""Every fault, done to answers of every form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.cases import for_each

from trialbed.wire import ModelAnswer, usage_counts
from trialbed.wire.dialects import dialect
from trialbed.wire.dialects.chat_completions import read_body, read_stream
from trialbed_scripted import FAULTS, FaultScript, ModelTurn, ReceivedRequest, Response, ask, call, say
from trialbed_scripted._endpoint import write_turn
from trialbed_scripted.faults import EDITS, Fault
from trialbed_scripted.vendor import ANSWERS

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"required": ["city"]}}}
CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "q"}], "tools": [TOOL]}
CALLS = (call("look", city="Oslo"), call("look"))
RAW: dict[str, Any] = {"model": "m", "prompt": "p"}
SETTINGS = {name: setting.default for name, setting in ANSWERS.items()}


def response(said: ModelTurn, fault: Fault, document: dict[str, Any], **fields: Any) -> Response:
    request = ReceivedRequest(0, {**document, **fields}, headers={"authorization": "Bearer key"})
    right = write_turn(fault.change_turn(said, request.asked), request, fault, SETTINGS)
    return fault.change_response(right, request)


def test_every_fault_can_be_done_to_every_answer() -> None:
    for name in FAULTS:
        (fault,) = FaultScript.read(name).steps
        for document in (CHAT, RAW):
            for said in (
                say("text"),
                ask(call("look", city="Oslo")),
                ModelTurn(),
                ModelTurn(calls=(call("look", "["),)),
            ):
                read_body(response(said, fault, document).body)
                read_stream(response(said, fault, document, stream=True).body, ("look",))


@for_each("name", EDITS)
def test_every_edit_changes_an_answer_of_its_dialect_and_no_other_dialect_has_it(name: str) -> None:
    spoken = dialect(name)
    for fault in {fault for edits in EDITS.values() for fault in edits}:
        changed = []
        for fields in ({"stream": False}, {"stream": True, "stream_options": {"include_usage": True}}):
            right = Response.answer(
                ModelAnswer(content="hi", calls=CALLS, usage=usage_counts(3, 4)), spoken.read_request(fields), spoken
            )
            if fault not in EDITS[name]:
                with pytest.raises(LookupError, match=fault):
                    Fault(fault).edit(right, name)
                continue
            changed.append(Fault(fault).edit(right, name).body != right.body)
            assert Fault().edit(right, name) == right
        assert any(changed) == (fault in EDITS[name]), fault


def test_a_raw_completion_is_text_and_its_calls_stand_in_it() -> None:
    whole = json.loads(response(say("x"), Fault("unknown_tool"), RAW).body)["choices"][0]["text"]
    assert "<|tool_call_begin|>functions.tool_that_was_not_offered:0<|tool_call_argument_begin|>{}" in whole
    streamed = read_stream(response(say("x"), Fault("unknown_tool"), RAW, stream=True).body, ()).response
    assert streamed is not None
    assert streamed["choices"][0]["message"]["content"] == whole


def test_a_stream_and_a_document_say_the_same() -> None:
    usage = {"include_usage": True}
    for said in (say("text"), ask(call("look", city="Oslo"), call("look"))):
        whole = json.loads(response(said, Fault(), CHAT).body)
        streamed = read_stream(
            response(said, Fault(), CHAT, stream=True, stream_options=usage).body, ("look",)
        ).response
        assert streamed is not None
        assert streamed["usage"] == whole["usage"]
        for key in ("finish_reason", "message"):
            ours, theirs = streamed["choices"][0][key], whole["choices"][0][key]
            assert ours == theirs if key == "finish_reason" else ours.get("tool_calls") == theirs.get("tool_calls")
