"""Faults of models and endpoints, with the rows of the wire-fault atlas, and scripts of them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed.wire import ModelAnswer, usage_counts
from trialbed.wire.dialects import dialect
from trialbed_scripted import FAULTS, FaultScript, ReceivedRequest, Response, ScriptedEndpoint, call, say, script, serve
from trialbed_scripted.faults import EDITS, Fault, atlas
from trialbed_scripted.vendor import ANSWERS


def request(number: int = 0, attempt: int = 0) -> ReceivedRequest:
    return ReceivedRequest(number, {}, b"%d" % number, attempt=attempt)


def names(text: str) -> list[str]:
    script = FaultScript.read(text)
    return [script.fault(request(attempt=attempt)).name for attempt in range(4)]


def test_the_last_step_is_met_for_ever() -> None:
    assert names("status:429, reset_before ,none") == ["status", "reset_before", "none", "none"]
    assert names("none") == ["none"] * 4
    assert names('{"mix": {"status": 1}}') == ["status"] * 4


@for_each("name", FAULTS)
def test_every_fault_can_be_named_and_has_its_defaults(name: str) -> None:
    assert FaultScript.read(name).fault(request()).settings == FAULTS[name].settings


@for_each(
    ("text", "settings"),
    [
        ("status:503", {"status": 503, "retry_after": 0.0}),
        ('[{"fault": "status", "status": 429, "retry_after": 2}]', {"status": 429, "retry_after": 2}),
        ("slow:0.5", {"seconds": 0.5}),
        ("finish:content_filter", {"reason": "content_filter"}),
        ("echo_key:403", {"status": 403}),
    ],
)
def test_settings_are_given_after_the_name_or_beside_it(text: str, settings: dict[str, Any]) -> None:
    assert FaultScript.read(text).fault(request()).settings == settings


def test_a_mix_is_drawn_by_weight_and_always_alike() -> None:
    text = json.dumps({"mix": {"none": 3, "status:500": 1}, "seed": 5})
    script, again = FaultScript.read(text), FaultScript.read(text)
    drawn = [script.fault(request(number)) for number in range(400)]
    assert drawn == [again.fault(request(number)) for number in range(400)]
    assert 60 < Counter(fault.name for fault in drawn)["status"] < 140
    other = FaultScript.read(json.dumps({"mix": {"none": 3, "status:500": 1}, "seed": 6}))
    assert drawn != [other.fault(request(number)) for number in range(400)]


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('{"steps": ["html"], "answers": {"gap": 0.5}}')
    script = FaultScript.read(str(path))
    assert script.fault(request()).name == "html"
    assert script.answers == {**{key: setting.default for key, setting in ANSWERS.items()}, "gap": 0.5}


@for_each(
    ("text", "message"),
    [
        ("statuz", "there is no fault 'statuz'; did you mean 'status'?"),
        ("html:1", "html has no settings"),
        ("status:abc", "status must be a number, not 'abc'"),
        ("status:200", "status: status must be that of an HTTP error, 400 to 599"),
        ('{"mix": {}}', "mix: must name a fault"),
        ('{"answers": {"share": 2}}', "answers: share must be a share from 0 to 1"),
        ('[{"fault": "status", "colour": 1}]', "status: unknown key 'colour'; the keys are status, retry_after"),
        ('{"mix": {"none": 0}}', "weight of none must be above 0"),
        ('{"answers": {"speed": 1}}', "answers: unknown key 'speed'"),
        ("nowhere.json", "nowhere.json: cannot be read"),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        FaultScript.read(text)
    assert str(caught.value).startswith(f"--faults {text}: ")
    assert message in str(caught.value)


CALLS = (call("look", city="Oslo"), call("look"))


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


TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "q"}], "tools": [TOOL]}
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
RESULT = [{"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "call_1", "content": "sunny"}]
KEYS = {"report", "says", "finds", "request", "calls", "name", "arguments", "text", "reasoning", "finish", "usage"}
KEYS |= {"set", "add", "drop", "chunks", "first", "middle", "last", "after", "status", "headers", "type", "body"}


def answer(fault: str, *, spoken: str = "chat_completions", **fields: Any) -> Response:
    endpoint = ScriptedEndpoint(script(say("sunny")), fault)
    return asyncio.run(endpoint.respond(endpoint.receive(json.dumps({**ASKED, **fields}).encode(), {}, spoken)))


@for_each("name", atlas())
def test_each_row_changes_the_bytes_of_a_call_or_a_text(name: str) -> None:
    row = atlas()[name]
    assert row.keys() <= KEYS
    assert name not in FAULTS
    changed = []
    for fields in ({}, STREAMED):
        usual = "none" if "request" in row and "text" not in row else "always_calls"
        right = answer(usual, **fields, **row.get("request", {}))
        odd = answer(name, **fields, **row.get("request", {}))
        changed.append((odd.body, odd.status) != (right.body, right.status))
        assert answer(name, prompt="p", messages=[], **fields).status in (200, row.get("status"))
    assert any(changed)


def test_after_a_result_the_model_says_a_text() -> None:
    said = answer("lmstudio-830", messages=[*ASKED["messages"], *RESULT])
    assert json.loads(said.body)["choices"][0]["message"]["content"] == "sunny"


def test_only_chat_completions_have_the_faults_of_the_atlas() -> None:
    refused = answer("lmstudio-830", spoken="responses", input="q")
    assert (refused.status, b"lmstudio-830" in refused.body) == (501, True)


def test_rows_are_steps_and_parts_of_a_mix() -> None:
    steps = FaultScript.read("lmstudio-830,none").steps
    assert [step.name for step in steps] == ["lmstudio-830", "none"]
    mixed = FaultScript.read('{"mix": {"none": 3, "minimax": 1}}')
    assert [(fault.name, weight) for fault, weight in mixed.mix] == [("none", 3.0), ("minimax", 1.0)]
    with pytest.raises(UsageError, match="lmstudio-830"):
        FaultScript.read("lmstudio-83")
    with pytest.raises(UsageError, match="no settings"):
        FaultScript.read("lmstudio-830:1")


def test_the_atlas_is_served_by_path() -> None:
    with serve(faults="atlas") as server, httpx.Client(base_url=server.origin) as client:

        def ask(path: str) -> httpx.Response:
            return client.post(f"{path}/chat/completions", json=ASKED)

        (call,) = ask("/lmstudio-830/v1").json()["choices"][0]["message"]["tool_calls"]
        assert call["id"] == ""
        assert ask("/langgraph-2554/v1").status_code == 529
        assert "tool_calls" not in ask("/v1").json()["choices"][0]["message"]
        assert ask("/no-such-report/v1").status_code == 404
