"""Tests of the native profile: what users of CrewAI get, as its own documentation has them write an agent."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from packaging.version import Version
from support.adapters import answered, failure, results, said

from trialbed.wire import Call
from trialbed_adapter_lab import Barrier, Harness, tool
from trialbed_scripted import ask, call

pytestmark = [
    pytest.mark.framework("crewai:native"),
    pytest.mark.skipif(Version(version("crewai")) < Version("1.15.30"), reason="older releases do otherwise"),
]

ECHO = call("echo_text", {"text": "one"})
OPTIONAL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1, "title": "City", "examples": ["Rome"]},
        "days": {"type": "integer", "minimum": 1, "default": 3},
        "place": {"type": "object", "properties": {"zip": {"type": "string"}, "area": {"type": "string"}}},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "map": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "required": ["city"],
}
NULLABLE_TEXT = {"anyOf": [{"type": "string"}, {"type": "null"}]}
PLACE = {"type": "object", "properties": {"zip": NULLABLE_TEXT, "area": NULLABLE_TEXT}}
STRICT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1},
        "days": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        "place": {"anyOf": [{**PLACE, "required": ["zip", "area"], "additionalProperties": False}, {"type": "null"}]},
        "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        "map": {
            "anyOf": [
                {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
                {"type": "null"},
            ]
        },
    },
    "required": ["city", "days", "place", "tags", "map"],
    "additionalProperties": False,
}


async def test_the_first_request_has_crewais_prompt_around_the_task(harness: Harness) -> None:
    record = await harness.run("done", query="Why?", system_prompt="Be brief.", max_tokens=9, seed=7, temperature=0.5)
    frame = "You are Assistant. Be brief.\nYour personal goal is: Answer the user's question"
    assert record.requests[0].body == {
        "model": "harness-model",
        "messages": [{"role": "system", "content": frame}, {"role": "user", "content": "\nCurrent Task: Why?"}],
        "temperature": 0.5,
        "seed": 7,
        "max_tokens": 9,
        "tool_choice": "auto",
        "tools": [{"type": "function", "function": record.requests[0].functions[0]}],
    }
    assert record.requests[0].functions[0]["strict"] is True


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("Get-Weather", "get_weather"),
        ("getHTTPResponse", "get_http_response"),
        ("two__lines", "two_lines"),
        ("_x_", "x"),
    ],
)
async def test_tools_are_renamed_and_called_by_their_new_names(harness: Harness, name: str, offered: str) -> None:
    record = await harness.run(call(offered, {"text": "x"}), "done", tools=(tool(name),))
    assert [entry["name"] for entry in record.requests[0].functions] == [offered]
    assert [made.tool for made in record.calls] == [name]
    assert [made.api.tool_name for made in answered(record).calls if made.api] == [name]


async def test_the_second_tool_of_one_name_gets_a_number(harness: Harness) -> None:
    names, offered = ["Get-Text", "Get_Text", "getText"], ["get_text", "get_text_2", "get_text_3"]
    turn = ask(*[call(name, {"text": name}) for name in offered])
    record = await harness.run(turn, "done", tools=[tool(name) for name in names])
    assert [entry["name"] for entry in record.requests[0].functions] == offered
    assert {made.tool: made.arguments["text"] for made in record.calls} == dict(zip(names, offered, strict=True))
    assert [made.api.tool_name for made in answered(record).calls if made.api] == names


@pytest.mark.parametrize("name", ["9lives", "---"])
async def test_a_tool_without_a_usable_name_fails_the_trial_before_its_first_request(
    harness: Harness, name: str
) -> None:
    record = await harness.run("done", tools=(tool(name),))
    assert (said(record), record.requests) == ("ValueError", ())


@pytest.mark.parametrize(
    ("properties", "seen"),
    [
        ({"_x": {"type": "string"}}, "NameError"),
        ({"__class__": {"type": "string"}}, "NameError"),
        ({"model_dump": {"type": "string"}}, "ValidationError"),
        ({"any": True}, "AttributeError"),
    ],
)
async def test_a_tool_that_cannot_be_made_fails_the_trial_before_its_first_request(
    harness: Harness, properties: dict[str, Any], seen: str
) -> None:
    record = await harness.run("done", tools=(tool(parameters={"type": "object", "properties": properties}),))
    assert (said(record), record.requests) == (seen, ())


async def test_a_parameter_named_self_is_offered_and_cannot_be_given(harness: Harness) -> None:
    schema = {"type": "object", "properties": {"self": {"type": "string"}}, "required": ["self"]}
    record = await harness.run(call("echo_text", {"self": "x"}), "done", tools=(tool(parameters=schema),))
    assert (said(record), record.calls) == ("done", ())
    assert "got multiple values for argument 'self'" in results(record)[0]
    assert answered(record).calls == ()


async def test_every_schema_is_strict(harness: Harness) -> None:
    record = await harness.run("done", tools=(tool(parameters=OPTIONAL),))
    assert record.requests[0].functions[0]["parameters"] == STRICT


async def test_nulls_for_optional_parameters_are_not_sent_and_defaults_are(harness: Harness) -> None:
    nulls = {"city": "Rome", "days": None, "place": {"zip": "1", "area": None}, "tags": None, "map": None}
    turn = ask(call("echo_text", nulls), call("echo_text", {"city": "Rome", "map": {"a": 1.5}}))
    record = await harness.run(turn, "done", tools=(tool(parameters=OPTIONAL),))
    sent = sorted((made.arguments for made in record.calls), key=len)
    assert sent == [{"city": "Rome", "place": {"zip": "1"}}, {"city": "Rome", "days": 3, "map": {"a": 1.5}}]
    assert [made.arguments for made in answered(record).calls] == [sent[0], {"city": "Rome", "map": {"a": 1.5}}]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (call("no_such"), "Tool not found"),
        (call("echo_text", '{"text": '), "Error: Failed to parse tool arguments as JSON"),
        (call("echo_text", ""), "Error: Failed to parse tool arguments as JSON"),
        (call("echo_text", {"text": 1}), "Error executing tool: Tool 'Echo_text' arguments validation failed"),
        (call("echo_text", {}), "Error executing tool: Tool 'Echo_text' arguments validation failed"),
        (
            call("echo_text", {"text": "x", "more": 1}),
            "Error executing tool: Tool 'Echo_text' arguments validation failed",
        ),
    ],
    ids=["unknown tool", "cut off", "empty", "wrong type", "missing", "extra"],
)
async def test_a_model_that_errs_is_told(harness: Harness, wanted: Call, told: str) -> None:
    record = await harness.run(ask(wanted, ECHO), "done")
    assert (said(record), len(record.calls)) == ("done", 1)
    assert results(record)[0].startswith(told)
    assert [made.arguments for made in answered(record).calls if made.api] == [{"text": "one"}]


async def test_arguments_that_are_a_list_end_the_run(harness: Harness) -> None:
    record = await harness.run(call("echo_text", "[1]"), "done")
    assert (said(record), len(record.requests)) == ("ValidationError", 1)
    assert "ToolUsageStartedEvent" in failure(record)


@pytest.mark.parametrize(("calls", "met"), [(8, True), (9, False)])
async def test_eight_calls_run_at_the_same_time_and_not_nine(harness: Harness, calls: int, met: bool) -> None:
    # Only a barrier that is not met takes this long.
    barrier = Barrier(calls, timeout=60.0 if met else 1.0)
    turn = ask(*[call("echo_text", {"text": str(number)}) for number in range(calls)])
    record = await harness.run(turn, "done", tools=(tool(behave=barrier.tool()),))
    assert (len(record.calls), barrier.all_arrived) == (calls, met)
    assert [made for made, _ in record.requests[1].results] == [f"call_0_{number}" for number in range(calls)]
