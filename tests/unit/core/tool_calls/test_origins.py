"""Why an Api was called: the model decided on it, or it did not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from support.cases import for_each

from trialbed.records import ApiCall, ApiRef, ModelCall, SentCall, ToolSpec, WireLog
from trialbed.tool_calls import asked_calls, call_sources, unasked_calls

NOON = datetime(2026, 1, 2, tzinfo=UTC)
WEATHER, PLACES = (ApiRef(category="C", tool_name="Tool", api_name=name) for name in ("Weather", "Places"))
SCHEMA = {"properties": {"city": {"type": "string"}, "unit": {"default": "celsius"}, "days": {"type": "integer"}}}
TOOLS = (
    ToolSpec(name="Tool_Weather", description='For instance {"city": "Oslo"}.', parameters=SCHEMA, api=WEATHER),
    ToolSpec(name="Tool_Places", description="", parameters={}, api=PLACES),
)
OFFERED = [{"type": "function", "function": {"name": tool.name}} for tool in TOOLS]
FINISH = {"type": "function", "function": {"name": "final_answer"}}


def turn(
    arguments: str, name: str = "Tool_Weather", *, text: bool = False, at: float = 0.0, **request: Any
) -> ModelCall:
    sent = (SentCall(name=name, arguments=arguments),)
    body = {"messages": [{"role": "user", "content": "?"}], "tools": [] if text else OFFERED, **request}
    return ModelCall(
        started=at, duration=1, status=200, request=json.dumps(body), response="", request_bytes=0, response_bytes=0,
        tool_calls=() if text else sent, text_calls=sent if text else (),
    )  # fmt: skip


def origin(arguments: Any, *turns: ModelCall, api: ApiRef = WEATHER) -> str:
    call = ApiCall(started=9, duration=1, api=api, offered=True, arguments=arguments)
    wire = WireLog(trial="t", opened_at=NOON, model_calls=turns, api_calls=(call,))
    ((found, _),) = call_sources(wire, TOOLS)
    assert (unasked_calls(wire, TOOLS) == ()) is (found in ("model", "own tool"))
    return found


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


@for_each(
    ("request_fields", "expected"),
    [
        ({}, "model"),
        ({"tool_choice": "auto"}, "model"),
        # As smolagents sends it in every request: the model still chooses among calls, and can end.
        ({"tool_choice": "required", "tools": [*OFFERED, FINISH]}, "model"),
        ({"tool_choice": "required"}, "model"),
        ({"tool_choice": named("Tool_Weather")}, "forced"),
        ({"tool_choice": "required", "tools": OFFERED[:1]}, "forced"),
    ],
)
def test_a_call_by_name_is_not_the_models_decision(request_fields: dict[str, Any], expected: str) -> None:
    forced = turn('{"city": "Rome"}', **request_fields)
    assert origin({"city": "Rome"}, forced) == expected
    calls = asked_calls(WireLog(trial="t", opened_at=NOON, model_calls=(forced,)), TOOLS)
    assert len(calls) == (expected == "model")  # and none that the framework failed to make


def test_a_decision_of_the_model_counts_beside_one_that_was_forced() -> None:
    forced = turn('{"city": "Rome"}', tool_choice=named("Tool_Weather"))
    assert origin({"city": "Rome"}, forced, turn('{"city": "Rome"}', at=3)) == "model"


@for_each(
    ("written", "made", "expected"),
    [
        ("{}", {"city": "Rome"}, "changed"),
        ('{"city": "Oslo"}', {"city": "Rome"}, "changed"),
        ('{"city": "Rome", "unit": null}', {"city": "Rome", "days": 3}, "changed"),
        ("{}", {}, "model"),
        ('{"city": "rome "}', {"city": "Rome", "unit": "celsius", "days": None}, "model"),
        ('{"city": "Rome", "days": "3"}', {"city": "Rome", "days": 3}, "model"),
        ('{"city": "Rome", "days": 3.0}', {"city": "Rome", "days": 3}, "model"),
        ('{"city": "M\\u00fcnchen"}', {"city": "München"}, "model"),
        ('{"city": "Rome', {"city": "Rome"}, "model"),
        ('{"city": "Rome"', {}, "model"),
        ('"{\\"city\\": \\"Rome\\"}"', {"city": "Rome"}, "model"),
        ('{"cities": "Rome, Oslo"}', {"city": ["Rome", "Oslo"]}, "model"),
    ],
)
def test_arguments_that_the_model_did_not_write_make_the_call_the_frameworks(
    written: str, made: Any, expected: str
) -> None:
    assert origin(made, turn(written)) == expected


@for_each(
    ("content", "expected"),
    [
        ('Say <tool_call>{"name": "Tool_Weather", "arguments": {"city": "Rome"}}</tool_call>', "dictated"),
        ('Say {\\"name\\": \\"Tool_Weather\\", \\"arguments\\": {\\"city\\": \\"Rome\\"}}', "dictated"),
        ('An example: {"name": "other", "arguments": {"city": "Rome"}}', "model"),
        ("Tools: Tool_Weather(city). What is the weather in Rome?", "model"),
    ],
)
@for_each("text", [True, False])
def test_a_call_that_the_request_has_already_is_not_the_models_decision(
    content: str, expected: str, *, text: bool
) -> None:
    messages = [{"role": "user", "content": content}]
    assert origin({"city": "Rome"}, turn('{"city": "Rome"}', text=text, messages=messages)) == expected
    first = turn('{"city": "Rome"}', text=text)
    again = turn('{"city": "Rome"}', text=text, messages=messages, at=2)  # a history in the prompt
    assert origin({"city": "Rome"}, first, again) == "model"


ROME = '{"city": "Rome"}'
PLACES_CALL = {"role": "assistant", "tool_calls": [{"function": {"name": "Tool_Places", "arguments": ROME}}]}


def test_the_models_own_call_of_another_tool_dictates_none_with_the_same_arguments() -> None:
    asked = {"role": "user", "content": "Places, then Tool_Weather, please."}
    first = turn(ROME, "Tool_Places", messages=[asked])
    then = turn(ROME, messages=[asked, PLACES_CALL, {"role": "tool", "content": "see Tool_Weather"}], at=2)
    assert origin({"city": "Rome"}, first, then) == "model"
    # Where the request had both, neither was the model's decision.
    script = {"role": "system", "content": f"Tool_Places{ROME} Tool_Weather{ROME}"}
    first = turn(ROME, "Tool_Places", messages=[script, asked])
    then = turn(ROME, messages=[script, asked, PLACES_CALL], at=2)
    assert origin({"city": "Rome"}, first, then) == "dictated"


def test_a_call_that_the_model_had_cut_short_is_its_own_where_the_framework_repeats_it() -> None:
    first = turn(ROME[:-1])
    told = {
        "role": "assistant",
        "tool_calls": [{"function": {"name": "Tool_Weather", "arguments": wrapped(ROME[:-1])}}],
    }
    assert origin({"city": "Rome"}, first, turn(ROME, messages=[told], at=2)) == "model"
    assert origin({"city": "Rome"}, turn('{"ci'), turn(ROME, messages=[told], at=2)) == "dictated"


def wrapped(text: str) -> str:
    return json.dumps({"INVALID_JSON": text})


def test_a_call_that_an_api_links_to_is_the_models_decision() -> None:
    answer = {"next": {"call": "Tool_Weather", "with": {"city": "Rome"}}}
    then = turn(ROME, messages=[{"role": "tool", "content": json.dumps(answer)}], at=4)
    linked = ApiCall(started=1, duration=1, api=PLACES, offered=True, arguments={}, response=answer)
    weather = ApiCall(started=9, duration=1, api=WEATHER, offered=True, arguments={"city": "Rome"})
    calls = (turn("{}", "Tool_Places"), then)
    for made, expected in (((linked, weather), "model"), ((weather,), "dictated")):
        wire = WireLog(trial="t", opened_at=NOON, model_calls=calls, api_calls=made)
        assert call_sources(wire, TOOLS)[-1][0] == expected


def test_examples_of_the_tools_own_description_dictate_nothing() -> None:
    messages = [{"role": "system", "content": 'Tool_Weather: For instance {"city": "Oslo"}.'}]
    assert origin({"city": "Oslo"}, turn('{"city": "Oslo"}', messages=messages)) == "model"


@for_each(
    ("code", "choice", "expected"),
    [
        ("print(Tool_Weather(city='Rome'))", "auto", "own tool"),
        ("for city in cities: weather(city)", "auto", "own tool"),
        ("go", "auto", "none"),
        ("print(Tool_Weather(city='Rome'))", named("python"), "forced"),
    ],
)
def test_a_tool_of_the_frameworks_own_calls_what_its_code_names(code: str, choice: Any, expected: str) -> None:
    tools = [*OFFERED, {"type": "function", "function": {"name": "python"}}]
    asked = turn(json.dumps({"code": code}), "python", tools=tools, tool_choice=choice)
    found = origin({"city": "Rome"}, asked)
    assert found == ("none" if expected == "forced" else expected)
    assert origin({}, asked, api=PLACES) == "none"
