"""Every policy, played against a framework that answers each call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from support.cases import for_each

from trialbed.evidence import carries
from trialbed.records import ScriptedCall, finish_of
from trialbed.wire import OfferedTool
from trialbed.wire.dialects.chat_completions import read_message
from trialbed_scripted import POLICIES, ModelTurn
from trialbed_scripted.policies import PolicyInput, Tools
from trialbed_scripted.policies._policies import NO_RESULT_TEXT, NO_TOOL_TEXT

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


def test_an_agent_that_takes_over_with_other_tools_goes_on() -> None:
    script = (ScriptedCall(name="hand_over", arguments={}), ScriptedCall(name="refund", arguments={}))
    asked = read_message({"role": "assistant", "tool_calls": [{"function": {"name": "hand_over", "arguments": "{}"}}]})
    offered = {"refund": {"type": "object", "properties": {}}}
    turn = POLICIES["gold"](PolicyInput(script, tools(offered), (asked,)))
    assert (calls([turn]), turn.lost) == ([[("refund", {})]], ())


def test_partial_answers_with_the_evidence_of_what_it_called() -> None:
    text = play("partial")[1]
    assert "evidence of second" in text
    assert "evidence of third" not in text


@pytest.mark.parametrize(("policy", "text"), [("none", NO_TOOL_TEXT), ("wrong-args", NO_RESULT_TEXT)])
def test_policies_that_answer_without_evidence(policy: str, text: str) -> None:
    assert play(policy)[1] == text
    assert finish_of(text) == "give_answer"


def test_giveup_gives_up() -> None:
    assert finish_of(play("giveup")[1]) == "give_up_and_restart"


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


def test_the_unknown_tool_is_unknown_whatever_is_offered() -> None:
    turns, _ = play("unknown-tool", offered={**OFFERED, "tool_that_is_not_offered": {}})
    assert turns[0].calls[0].name not in {*OFFERED, "tool_that_is_not_offered"}


def test_extra_without_another_tool_is_gold() -> None:
    offered = {name: OFFERED[name] for name in ("first", "second", "third")}
    assert calls(play("extra", offered=offered)[0]) == [[call] for call in RIGHT]


@for_each("policy", sorted(set(POLICIES) - {"unknown-tool", "extra"}))
def test_without_gold_calls_every_policy_answers_at_once(policy: str) -> None:
    turns, text = play(policy, script=())
    assert turns == []
    assert text


def test_errors_are_no_evidence_and_content_in_parts_is_read() -> None:
    messages = [
        {"role": "tool", "content": "Error: nothing here 12345"},
        {"role": "tool", "content": '{"error": [{"input": "12345"}]}'},
        {"role": "tool", "content": [{"type": "text", "text": '{"a": "kept value"}'}]},
        {"role": "tool", "content": json.dumps({"result": '{"b": "wrapped value", "c": "other one"}'})},
        {"role": "user", "content": "not a tool"},
    ]
    text = POLICIES["gold"](PolicyInput((), Tools((), ()), tuple(map(read_message, messages)))).text
    assert "kept value; wrapped value; other one" in text
    assert "12345" not in text


@for_each(
    ("result", "fact"),
    [
        ("43", "43"),
        ('"43"', "43"),
        ('{"left": 7, "of": 43}', "7"),
        ("true", "true"),
        ('{"open": "no", "at": 43}', "43"),
    ],
)
def test_short_results_are_repeated(result: str, fact: str) -> None:
    messages = (read_message({"role": "tool", "content": result}),)
    assert carries(POLICIES["gold"](PolicyInput((), Tools((), ()), messages)).text or "", fact)


def test_there_are_the_thirteen_documented_policies() -> None:
    assert set(POLICIES) == {
        *("gold", "parallel", "none", "partial", "reordered", "extra", "wrong-args"),
        *("bad-json", "unknown-tool", "retry", "loop", "slow", "giveup"),
    }
