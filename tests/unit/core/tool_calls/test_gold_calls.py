from __future__ import annotations

from itertools import product

import pytest
from support.scoring import gold_call, ref, tool

from trialbed.records import GoldCall, Json
from trialbed.tool_calls import AlignedCall, AskedCall, align_gold_calls
from trialbed.tool_calls._alignment import align
from trialbed.tool_calls._comparing import ValueComparer
from trialbed.tool_calls._diagnosis import ToolCall


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


def test_gold_calls_without_arguments_leave_the_right_call_to_those_that_have_some() -> None:
    calls = [call("a", {"x": 1}), call("a", {"x": 2})]
    found = align_gold_calls([GoldCall(api=ref("a")), gold_call("a", x=1)], calls, [])
    assert [one.call for one in found.gold] == [calls[1], calls[0]]
    assert all(one.right for one in found.gold)


def test_schemas_tell_how_arguments_are_compared() -> None:
    (found,) = align_gold_calls([gold_call("a")], [call("a", {"n": 5})], [tool("a", n={"default": 5})]).gold
    assert found.right


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


def test_without_calls_and_without_gold_calls_there_is_nothing_to_align() -> None:
    assert align_gold_calls([], [], []).gold == ()
    assert align_gold_calls([], [call("a", {})], []).others == (call("a", {}),)


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
