"""The rows of the wire-fault atlas as faults."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed_scripted import FAULTS, FaultScript, Response, ScriptedEndpoint, say, script, serve
from trialbed_scripted.faults import atlas

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
