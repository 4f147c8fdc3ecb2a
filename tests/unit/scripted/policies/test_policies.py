"""Every policy, played with tools as frameworks offer them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from support.cases import for_each

from trialbed.records import ApiRef, ScriptedCall, ToolSpec, finish_of
from trialbed.wire import OfferedTool
from trialbed.wire.dialects.chat_completions import read_message
from trialbed_scripted import POLICIES, ModelTurn
from trialbed_scripted.policies import PolicyInput, Tools

NO_TOOL_TEXT = "I can answer this without any tool."
NO_RESULT_TEXT = "I called the tools but have no result to report."
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
DAYS = {"type": "object", "properties": {"days": {"type": "integer"}}}
NOTHING = {"type": "object", "properties": {}}
CODE = {
    "type": "object",
    "properties": {"code": {"enum": ["x", "y"]}, "n": {"type": "integer"}},
    "required": ["code", "n"],
}

SCRIPT = (
    ScriptedCall(name="first", arguments={"city": "Oslo"}),
    ScriptedCall(name="second", arguments={"days": 3}),
    ScriptedCall(name="third", arguments={}),
)
OFFERED: dict[str, Any] = {"first": CITY, "second": DAYS, "third": NOTHING, "other": CODE}

RIGHT = [("first", {"city": "Oslo"}), ("second", {"days": 3}), ("third", {})]


def tools(offered: Any) -> Tools:
    """What a request offers, by name and schema, of tools that the trial does not name."""
    return Tools((), [OfferedTool(name, "", schema) for name, schema in offered.items()])


def play(policy: str, *, script: Any = SCRIPT, offered: Any = OFFERED, turns: int = 8) -> tuple[list[ModelTurn], str]:
    """The turns with calls, and the final text; every call is answered with its own evidence."""
    messages: list[Any] = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    played: list[ModelTurn] = []
    for _ in range(turns):
        turn = POLICIES[policy](PolicyInput(script, tools(offered), tuple(map(read_message, messages))))
        if not turn.calls:
            return played, turn.text
        played.append(turn)
        messages.append({"role": "assistant", "content": None, "tool_calls": [{} for _ in turn.calls]})
        evidence = [json.dumps({"value": f"evidence of {call.name}"}) for call in turn.calls]
        messages.extend({"role": "tool", "content": text} for text in evidence)
    return played, ""


def calls(turns: list[ModelTurn]) -> list[list[tuple[str, Any]]]:
    return [[(call.name, json.loads(call.arguments)) for call in turn.calls] for turn in turns]


@for_each(
    ("policy", "expected"),
    [
        ("gold", [[call] for call in RIGHT]),
        ("slow", [[call] for call in RIGHT]),
        ("parallel", [RIGHT]),
        ("none", []),
        ("partial", [[call] for call in RIGHT[:2]]),
        ("reordered", [[call] for call in reversed(RIGHT)]),
        ("extra", [*[[call] for call in RIGHT], [("other", {"code": "x", "n": 1})]]),
        ("unknown-tool", [[("tool_that_is_not_offered", {})], *[[call] for call in RIGHT]]),
        ("loop", [[RIGHT[0]]] * 8),
        ("giveup", [[RIGHT[0]]]),
    ],
)
def test_the_calls_of_a_policy(policy: str, expected: Any) -> None:
    assert calls(play(policy)[0]) == expected


@for_each("policy", ["gold", "slow", "parallel", "reordered", "extra", "bad-json", "unknown-tool", "retry"])
def test_policies_that_make_every_call_answer_with_the_evidence_of_every_call(policy: str) -> None:
    text = play(policy)[1]
    assert all(f"evidence of {name}" in text for name in ("first", "second", "third"))


def test_partial_answers_with_the_evidence_of_what_it_called() -> None:
    text = play("partial")[1]
    assert "evidence of second" in text
    assert "evidence of third" not in text


@pytest.mark.parametrize(("policy", "text"), [("none", NO_TOOL_TEXT), ("wrong-args", NO_RESULT_TEXT)])
def test_policies_that_answer_without_evidence(policy: str, text: str) -> None:
    assert play(policy)[1] == text
    assert finish_of(text) == "give_answer"


def test_wrong_args_violates_every_schema_once() -> None:
    turns = calls(play("wrong-args")[0])
    assert [turn[0][0] for turn in turns] == ["first", "second", "third"]
    for ((name, arguments),) in turns:
        assert not Draft202012Validator(OFFERED[name]).is_valid(arguments)


def test_retry_makes_the_first_call_wrong_then_right() -> None:
    turns = calls(play("retry")[0])
    assert not Draft202012Validator(CITY).is_valid(turns[0][0][1])
    assert turns[1:] == [[call] for call in RIGHT]


def test_bad_json_first_sends_arguments_that_do_not_parse() -> None:
    turns, _ = play("bad-json")
    assert turns[0].calls[0].name == "first"
    with pytest.raises(json.JSONDecodeError):
        json.loads(turns[0].calls[0].arguments)
    assert calls(turns[1:]) == [[call] for call in RIGHT]


@for_each("policy", sorted(set(POLICIES) - {"unknown-tool", "extra"}))
def test_without_gold_calls_every_policy_answers_at_once(policy: str) -> None:
    turns, text = play(policy, script=())
    assert turns == []
    assert text


REF = ApiRef(category="c", tool_name="t", api_name="a")
FORECAST: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
MAP: dict[str, Any] = {"type": "object", "properties": {"map": {"type": "object"}}, "required": ["map"]}
TOOLS = tuple(
    ToolSpec(name=name, description=f"{name}, which is described here.", parameters=schema, api=REF)
    for name, schema in {"Weather_Now": FORECAST, "Map_Draw": MAP, "Other_Tool": FORECAST}.items()
)
TOOL_SCRIPT = (
    ScriptedCall(name="Map_Draw", arguments={"map": {"x": 1}}),
    ScriptedCall(name="Weather_Now", arguments={"city": "Oslo"}),
)
STRICT = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
CLOSED = {"type": "object", "properties": {"map": {"type": "object", "properties": {}, "additionalProperties": False}}}
RENAMED = {"weather_now": STRICT, "map_draw": MAP, "other_tool": STRICT}
QUESTION = [{"role": "user", "content": "?"}]


def turn(policy: str, offered: dict[str, Any], messages: list[Any] = QUESTION) -> ModelTurn:
    functions = [OfferedTool(name, "", schema) for name, schema in offered.items()]
    return POLICIES[policy](PolicyInput(TOOL_SCRIPT, Tools(TOOLS, functions), tuple(map(read_message, messages))))


def asked(*turns: ModelTurn, before: list[Any] = QUESTION) -> list[Any]:
    """The conversation after these turns."""
    messages = list(before)
    for one in turns:
        messages.append({"role": "assistant", "tool_calls": [{"function": {"name": call.name}} for call in one.calls]})
        messages += [{"role": "tool", "content": f'{{"v": "evidence of {call.name}"}}'} for call in one.calls]
    return messages


def sent(played: ModelTurn) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in played.calls]


def test_calls_have_the_names_and_the_schemas_of_the_request() -> None:
    first = turn("gold", RENAMED)
    second = turn("gold", RENAMED, asked(first))
    assert sent(first) == [("map_draw", {"map": {"x": 1}})]
    assert sent(second) == [("weather_now", {"city": "Oslo", "days": None})]
    assert (first.played, second.played, first.lost) == ((0,), (1,), ())
    assert "evidence of weather_now" in turn("gold", RENAMED, asked(first, second)).text
    assert sent(turn("parallel", RENAMED)) == sent(first) + sent(second)


def test_a_call_that_cannot_be_made_is_left_out_and_told() -> None:
    offered = {**RENAMED, "map_draw": CLOSED}
    only = turn("gold", offered)
    assert sent(only)[0][0] == "weather_now"
    (lost,) = only.lost
    assert (lost.position, lost.tool, lost.reason) == (0, "Map_Draw", "arguments")
    assert "map.x" in lost.detail
    assert "evidence of weather_now" in turn("gold", offered, asked(only)).text
    for policy in ("bad-json", "retry", "loop", "giveup"):
        assert [call.tool for call in turn(policy, offered).lost][:1] == ["Map_Draw"], policy


@for_each(
    ("offered", "reason", "detail"),
    [
        ({}, "no tools", "offers no tools"),
        ({"weather_now": STRICT}, "not offered", "offers 1 function, "),
        ({"Map-Draw": MAP, "mapDraw": MAP}, "ambiguous", "Map-Draw, mapDraw"),
    ],
)
def test_the_reason_of_a_loss(offered: dict[str, Any], reason: str, detail: str) -> None:
    lost = turn("loop", offered).lost[0]
    assert (lost.tool, lost.reason) == ("Map_Draw", reason)
    assert detail in lost.detail


def test_a_required_argument_that_was_optional_is_made_up_and_told() -> None:
    offered = {"weather_now": {**FORECAST, "required": ["city", "days"]}, "map_draw": MAP}
    second = turn("gold", offered, asked(turn("gold", offered)))
    assert sent(second) == [("weather_now", {"city": "Oslo", "days": 0})]
    (filled,) = second.filled
    assert (filled.position, filled.tool, filled.argument, filled.value) == (1, "Weather_Now", "days", 0)
