"""Policies with tools as frameworks offer them."""

from __future__ import annotations

import json
from typing import Any

from support.cases import for_each

from trialbed.records import ApiRef, ScriptedCall, ToolSpec
from trialbed.wire import OfferedTool
from trialbed.wire.dialects.chat_completions import read_message
from trialbed_scripted import POLICIES, ModelTurn
from trialbed_scripted.policies import PolicyInput, Tools

REF = ApiRef(category="c", tool_name="t", api_name="a")
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
MAP: dict[str, Any] = {"type": "object", "properties": {"map": {"type": "object"}}, "required": ["map"]}
TOOLS = tuple(
    ToolSpec(name=name, description=f"{name}, which is described here.", parameters=schema, api=REF)
    for name, schema in {"Weather_Now": CITY, "Map_Draw": MAP, "Other_Tool": CITY}.items()
)
SCRIPT = (
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
    return POLICIES[policy](PolicyInput(SCRIPT, Tools(TOOLS, functions), tuple(map(read_message, messages))))


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


def test_an_agents_own_tool_gets_an_example_of_each_required_argument_that_the_script_leaves_out() -> None:
    schema = {**STRICT, "properties": {"city": {"type": "string", "enum": ["Oslo"]}, "days": {"type": "integer"}}}
    tools = Tools((), [OfferedTool("weather", "", schema)])

    def played(policy: str, **arguments: Any) -> list[tuple[str, Any]]:
        script = [ScriptedCall(name="weather", arguments=arguments)]
        return sent(POLICIES[policy](PolicyInput(script, tools, tuple(map(read_message, QUESTION)))))

    assert played("gold", days=7) == [("weather", {"city": "Oslo", "days": 7})]
    assert played("gold") == played("parallel") == [("weather", {"city": "Oslo", "days": 1})]
    assert played("gold", city="Rome", days="?") == [("weather", {"city": "Rome", "days": "?"})]
    assert played("wrong-args", days=7) == played("retry", days=7) == [("weather", {"days": 7})]
    # One of two is enough, and it is there.
    schema = {"type": "object", "anyOf": [{"required": ["city"]}, {"required": ["days"]}]}
    tools = Tools((), [OfferedTool("weather", "", schema)])
    assert played("gold", days=7) == [("weather", {"days": 7})]


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


def test_what_a_framework_adds_to_the_conversation_does_not_count() -> None:
    first = turn("gold", RENAMED)
    added = [{"role": "system", "content": "s"}, {"role": "assistant", "content": "I shall think."}, *QUESTION]
    more = [{"role": "user", "content": "Go on."}, {"role": "developer", "content": "!"}]
    messages = [*asked(first, before=added), *more]
    assert sent(turn("gold", RENAMED, messages))[0][0] == "weather_now"
    forced = turn("gold", {}, messages)
    assert "evidence of map_draw" in forced.text
    assert [call.position for call in forced.lost] == [0, 1]


def test_wrong_arguments_are_wrong_under_both_schemas_and_else_as_offered() -> None:
    first, second = turn("wrong-args", RENAMED), turn("wrong-args", RENAMED, asked(turn("wrong-args", RENAMED)))
    assert (sent(first), sent(second)) == ([("map_draw", {})], [("weather_now", {"days": None})])


def test_a_required_argument_that_was_optional_is_made_up_and_told() -> None:
    offered = {"weather_now": {**CITY, "required": ["city", "days"]}, "map_draw": MAP}
    second = turn("gold", offered, asked(turn("gold", offered)))
    assert sent(second) == [("weather_now", {"city": "Oslo", "days": 0})]
    (filled,) = second.filled
    assert (filled.position, filled.tool, filled.argument, filled.value) == (1, "Weather_Now", "days", 0)


def test_the_extra_call_is_of_the_trials_other_tools_not_of_the_frameworks_own() -> None:
    offered = {"final_answer": {}, **RENAMED}
    turns: list[ModelTurn] = []
    for _ in range(3):
        turns.append(turn("extra", offered, asked(*turns)))
    assert sent(turns[-1]) == [("other_tool", {"city": "sample", "days": None})]
    assert turns[-1].played == ()


def test_a_result_that_was_written_as_json_once_more_is_read() -> None:
    messages = [{"role": "tool", "content": json.dumps('{"v": "kept value"}')}]
    assert "kept value" in turn("gold", {}, messages).text
