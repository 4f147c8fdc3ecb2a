"""Tests of the native profile: what users of the OpenAI Agents SDK get, in the words of its own documentation."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from support.adapters import answered, cell_of, failure, results, said

from trialbed.wire import Call
from trialbed_adapter_lab import Harness, tool
from trialbed_adapter_lab.trials import without_message
from trialbed_scripted import ModelTurn, Response, ask, call, fail, forever, say

as_of_0_24 = pytest.mark.skipif(
    tuple(map(int, version("openai-agents").split(".")[:2])) < (0, 24), reason="older releases do otherwise"
)
pytestmark = pytest.mark.framework("openai-agents:native")

ECHO = call("Echo_text", {"text": "one"})
TOLD = "An error occurred while running the tool. Please try again."
OPTIONAL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1},
        "options": {"type": "object"},
        "unit": {"oneOf": [{"const": "C"}, {"const": "F"}], "default": None},
    },
    "required": ["city"],
}
STRICT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1},
        "options": {"type": "object", "additionalProperties": False},
        "unit": {"anyOf": [{"const": "C"}, {"const": "F"}]},
    },
    "required": ["city", "days", "options", "unit"],
    "additionalProperties": False,
}
OPEN_MAP = {"type": "object", "properties": {"map": {"type": "object", "additionalProperties": {"type": "number"}}}}


def calls(*ids: str) -> Response:
    """A response that calls the tool once for each of these ids."""
    items = [
        {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": made,
            "name": "Echo_text",
            "arguments": f'{{"text": "{number}"}}',
            "status": "completed",
        }
        for number, made in enumerate(ids)
    ]
    head = {"id": "resp_x", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    return Response.document({**head, "output": items, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True})


async def test_the_first_request_has_the_prompt_as_it_is_and_strict_tools(harness: Harness) -> None:
    record = await harness.run("done", query="Why?", system_prompt="Be brief.", max_tokens=9, seed=7, temperature=0.5)
    assert record.requests[0].dialect == "responses"
    assert record.requests[0].body == {
        "model": "harness-model",
        "include": [],
        "instructions": "Be brief.",
        "input": [{"content": "Why?", "role": "user"}],
        "temperature": 0.5,
        "max_output_tokens": 9,
        "tools": [{"type": "function", **record.requests[0].functions[0], "strict": True}],
    }


async def test_the_history_goes_back_as_it_came(harness: Harness) -> None:
    record = await harness.run(ask(ECHO, text="Let me see."), "done")
    question, text, made, told = record.requests[1].body["input"]
    assert (question["role"], text["type"], made["type"], told["type"]) == (
        "user",
        "message",
        "function_call",
        "function_call_output",
    )
    assert made["call_id"] == told["call_id"] == record.requests[1].results[0][0]
    assert "previous_response_id" not in record.requests[1].body


async def test_optional_properties_become_required_and_not_nullable(harness: Harness) -> None:
    record = await harness.run("done", tools=(tool(parameters=OPTIONAL),))
    assert record.requests[0].functions[0] == {
        "name": "Echo_text",
        "description": "Returns its arguments.",
        "parameters": STRICT,
        "strict": True,
    }


@as_of_0_24
@pytest.mark.parametrize("schema", [OPEN_MAP, {"anyOf": [{"type": "object", "properties": {}}, {"type": "object"}]}])
async def test_a_schema_without_a_strict_form_is_offered_as_it_is(harness: Harness, schema: dict[str, Any]) -> None:
    record = await harness.run(call("Map", {"map": {"a": 1.5}}), "done", tools=(tool("Map", parameters=schema),))
    assert (record.requests[0].functions[0]["parameters"], record.requests[0].functions[0]["strict"]) == (schema, False)
    assert [made.arguments for made in record.calls] == [{"map": {"a": 1.5}}]


@pytest.mark.parametrize("turn", [[call("no_such")], [ECHO, call("no_such")]], ids=["alone", "beside a good call"])
async def test_an_unknown_tool_ends_the_run(harness: Harness, turn: list[Call]) -> None:
    record = await harness.run(ask(*turn), "done")
    assert failure(record) == "ModelBehaviorError: Tool no_such not found in agent Assistant"
    turns, calls, cause = cell_of("openai-agents:native", "unknown-tool")
    assert (len(record.requests), len(record.calls)) == (turns, calls)
    assert f"`{said(record)}`" in cause


@as_of_0_24
@pytest.mark.parametrize("text", ['{"text": ', "", "'text'"])
async def test_a_model_that_writes_invalid_json_is_told_a_fixed_sentence(harness: Harness, text: str) -> None:
    record = await harness.run(call("Echo_text", text), "done")
    assert (said(record), results(record), record.calls) == ("done", [TOLD], ())
    assert [made.arguments for made in answered(record).calls if isinstance(made.arguments, dict)] == []


@pytest.mark.parametrize("text", ["[1]", '"text"', "null"])
async def test_json_that_is_no_object_goes_to_the_tool(harness: Harness, text: str) -> None:
    record = await harness.run(call("Echo_text", text), "done")
    assert (said(record), record.calls) == ("done", ())
    assert results(record)[0].startswith("Error: the call could not be made")


@pytest.mark.parametrize("arguments", [{"text": 1}, {}, {"text": "x", "more": 1}, {"text": None}])
async def test_arguments_are_not_validated(harness: Harness, arguments: dict[str, Any]) -> None:
    record = await harness.run(call("Echo_text", arguments), "done")
    assert (said(record), [made.arguments for made in record.calls]) == ("done", [arguments])


@as_of_0_24
async def test_a_tool_that_raises_is_told_as_a_fixed_sentence(
    monkeypatch: pytest.MonkeyPatch, harness: Harness
) -> None:
    async def explode(*_: object) -> str:
        raise RuntimeError("backend exploded")

    monkeypatch.setattr("trialbed.Tool.ainvoke", explode)
    record = await harness.run(ECHO, "done")
    assert (said(record), results(record)) == ("done", [TOLD])


@as_of_0_24
@pytest.mark.parametrize(
    ("reply", "seen"),
    [
        (say(""), ""),
        (say(None), ""),
        (say("cut", finish_reason="length"), "ModelBehaviorError"),
        (say(None, finish_reason="length"), "ModelBehaviorError"),
        (say("text", finish_reason="content_filter"), "ModelBehaviorError"),
        (say(None, refusal="I would rather not."), "ModelRefusalError"),
        (without_message, "ValidationError"),
        (Response.text('{"error": {"message": "busy"}}'), "ValidationError"),
    ],
)
async def test_an_odd_end(harness: Harness, reply: ModelTurn | Response, seen: str) -> None:
    record = await harness.run(reply, "done")
    assert (said(record), len(record.requests)) == (seen, 1)
    assert record.answer is None or (record.answer.finish is None) is not seen


@as_of_0_24
@pytest.mark.parametrize(("second", "seen"), [("two", "ModelBehaviorError"), ("one", "done")])
async def test_a_call_id_that_is_used_again(harness: Harness, second: str, seen: str) -> None:
    turns = [ask(call("Echo_text", {"text": text}, "same")) for text in ("one", second)]
    record = await harness.run(*turns, "done")
    assert (said(record), len(record.calls)) == (seen, 1)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(
    ("status", "requests", "seen"),
    [
        (429, 3, "RateLimitError"),
        (500, 3, "InternalServerError"),
        (400, 1, "BadRequestError"),
        (401, 1, "AuthenticationError"),
        (403, 1, "PermissionDeniedError"),
    ],
)
async def test_an_endpoint_that_always_fails(harness: Harness, status: int, requests: int, seen: str) -> None:
    record = await harness.run(forever(fail(status)))
    assert (said(record), len(record.requests)) == (seen, requests)


async def test_a_model_that_never_stops_is_stopped_by_the_sdk_after_ten_turns(harness: Harness) -> None:
    record = await harness.run(forever(ask(ECHO)), max_steps=30)
    assert failure(record) == "MaxTurnsExceeded: Max turns (10) exceeded"
    turns, calls, cause = cell_of("openai-agents:native", "loop")
    assert (len(record.requests), len(record.calls)) == (turns, calls)
    assert f"`{said(record)}`" in cause
