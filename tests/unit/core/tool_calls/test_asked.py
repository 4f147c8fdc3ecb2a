"""The calls that a model asked for, and the expected calls that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from support.scoring import NOON, api_call, gold_call, model_call, ref, sent_call, tool

from trialbed.records import ApiCall, GoldCall, Json, ModelCall, SentCall, WireLog
from trialbed.tool_calls import (
    NOT_MADE,
    AlignedCall,
    AskedCall,
    ToolCall,
    ValueComparer,
    align,
    align_gold_calls,
    asked_calls,
)

TOOLS = [tool("a"), tool("b")]


def found(models: Sequence[ModelCall], apis: Sequence[ApiCall], unasked: Sequence[ApiCall] = ()) -> list[AskedCall]:
    wire = WireLog(trial="token", opened_at=NOON, model_calls=tuple(models), api_calls=tuple(apis))
    return list(asked_calls(wire, TOOLS, unasked))


def test_calls_stand_in_the_order_of_time_with_what_became_of_them() -> None:
    asked = [model_call(sent=[sent_call("a", "{", "invalid json"), sent_call("a", '{"x": 1}')], duration=1.0)]
    seen = [api_call("a", {"x": 1}, started=2, response="fine"), api_call("b", started=3, error="no")]
    calls = found(asked, seen)
    assert [(call.name, call.reached, call.problem) for call in calls] == [
        ("t_a", False, "invalid json"),
        ("t_a", True, ""),
        ("t_b", True, "no"),
    ]
    assert [call.accepted for call in calls] == [False, True, False]
    assert calls[1].response == "fine"


def test_calls_that_the_framework_did_not_make_are_told() -> None:
    asked = [model_call(sent=[sent_call("a", '{"x": 1}'), sent_call("a", '{"x": 2}')])]
    calls = found(asked, [api_call("a", {"x": 2})])
    assert [(call.arguments, call.problem) for call in calls] == [('{"x": 1}', NOT_MADE), ({"x": 2}, "")]


def test_calls_of_one_answer_stand_in_its_order_whichever_arrives_first() -> None:
    asked = [
        model_call(sent=[sent_call("a", '{"x": 1}'), sent_call("b"), sent_call("a", '{"x": "3"}')], duration=1.0),
        model_call(sent=[sent_call("a", '{"x": 1}')], started=5.0, duration=1.0),
    ]
    seen = [
        api_call("a", {"x": 3}, started=1.1),
        api_call("b", started=1.2),
        api_call("b", {"y": 0}, started=1.3),
        api_call("a", {"x": 1}, started=1.4),
        api_call("a", {"x": 1}, started=6.1, response="again"),
    ]
    calls = found(asked, seen)
    assert [call.arguments for call in calls] == [{"x": 1}, {}, {"x": 3}, {"y": 0}, {"x": 1}]
    assert calls[-1].response == "again"


def test_calls_under_another_name_are_their_tools() -> None:
    renamed = SentCall(name="renamed", arguments="{}", tool="t_a")
    assert len(found([model_call(sent=[renamed])], [api_call("a")])) == 1


def test_unasked_calls_and_the_frameworks_own_are_left_out() -> None:
    own = SentCall(name="think", arguments="{}")
    call = api_call("a")
    assert found([model_call(sent=[own])], [call], [call]) == []


def call(name: str, arguments: Json, problem: str = "", started: float = 0.0) -> AskedCall:
    return AskedCall(name, ref(name), arguments, started, True, problem)


def test_each_gold_call_has_the_call_that_comes_closest_and_no_call_stands_for_two() -> None:
    near, exact = call("a", {"x": 1, "y": 0}), call("a", {"x": 1, "y": 2})
    gold = [gold_call("a", x=1, y=2), gold_call("a", x=1, y=3), gold_call("a", x=9, y=9)]
    found = align_gold_calls(gold, [near, exact], []).gold
    assert [one.call for one in found] == [exact, near, None]
    assert [one.right for one in found] == [True, False, False]
    assert [one.difference for one in found] == ["", "y: 0 instead of 3", "not called"]


def test_of_equal_calls_an_accepted_one_stands() -> None:
    for many in (2, 9):
        failed = [call("a", {"x": 1.0}, "busy", started=number) for number in range(many)]
        good = call("a", {"x": 1}, started=many)
        found = align_gold_calls([gold_call("a", x=1)], [*failed, good], [])
        assert found.gold[0].call is good
        assert found.others == tuple(failed)


def test_calls_of_other_apis_and_of_none_stand_for_nothing() -> None:
    unknown = AskedCall("x", None, "{}", 0.0, False, "unknown tool")
    other = call("b", {})
    found = align_gold_calls([gold_call("a")], [other, unknown], [])
    assert found.gold == (AlignedCall(gold_call("a")),)
    assert found.others == (other, unknown)


@pytest.mark.parametrize("arguments", ['{"x": ', "[1]", '"x"', ["x"]])
def test_arguments_that_cannot_be_read_are_wrong_and_none_of_them_is_missing(arguments: Json) -> None:
    cut = AskedCall("a", ref("a"), arguments, 0.0, False, "invalid json")
    (found,) = align_gold_calls([gold_call("a", x=1)], [cut], []).gold
    assert (found.points, found.difference) == (0.0, "the arguments are not a JSON object")
    (free,) = align_gold_calls([GoldCall(api=ref("a"))], [cut], []).gold
    assert (free.points, free.difference) == (1.0, "")


@pytest.mark.parametrize("failed", [False, True])
def test_the_order_of_calls_counts_for_the_accuracy_alone(failed: bool) -> None:
    def made(name: str, number: int, place: int) -> AskedCall:
        return call(name, {"x": number, "y": 0}, "busy" if failed and place == 0 else "", started=place)

    gold = [gold_call("a", x=1, y=0), gold_call("b", x=1, y=0), gold_call("a", x=2, y=1)]
    comparer = ValueComparer()
    wanted = [(ToolCall(" / ".join((*one.api.pair, "")), one.arguments),) for one in gold]
    for chosen in product([("a", 1), ("a", 2), ("b", 1)], repeat=3):
        calls = [made(*one, place) for place, one in enumerate(chosen)]
        own = [ToolCall(" / ".join((*one.api.pair, "")), one.arguments) for one in calls]
        rows = align(own, wanted, {}, comparer, ordered=True)
        found = align_gold_calls(gold, calls, [])
        assert found.accuracy.value == pytest.approx(sum(row.points for row in rows) / len(rows))


def test_differences_are_short() -> None:
    (found,) = align_gold_calls([gold_call("a", x="y" * 999)], [call("a", {"x": "z", "w": 1})], []).gold
    assert found.difference.startswith('x: "z" instead of "yyy')
    assert found.difference.endswith("…; w is not in the expected call")
    assert len(found.difference) < 200
