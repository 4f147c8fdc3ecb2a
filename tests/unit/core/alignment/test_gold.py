from __future__ import annotations

from support.scoring import gold_call, ref, tool

from trialbed.alignment import align_gold_calls
from trialbed.records import GoldCall, Json
from trialbed.results import AskedCall


def call(name: str, arguments: Json, problem: str = "", started: float = 0.0) -> AskedCall:
    return AskedCall(name, ref(name), arguments, started, True, problem)


def test_each_gold_call_has_the_call_that_comes_closest_and_no_call_stands_for_two() -> None:
    near, exact = call("a", {"x": 1, "y": 0}), call("a", {"x": 1, "y": 2})
    gold = [gold_call("a", x=1, y=2), gold_call("a", x=1, y=3), gold_call("a", x=9, y=9)]
    found = align_gold_calls(gold, [near, exact], [])
    assert [one.call for one in found] == [exact, near, None]
    assert [one.right for one in found] == [True, False, False]


def test_of_equal_calls_the_accepted_one_stands() -> None:
    failed, good = call("a", {"x": 1}, "busy"), call("a", {"x": 1}, started=1)
    (found,) = align_gold_calls([gold_call("a", x=1)], [failed, good], [])
    assert found.call is good


def test_gold_calls_without_arguments_leave_the_right_call_to_those_that_have_some() -> None:
    calls = [call("a", {"x": 1}), call("a", {"x": 2})]
    found = align_gold_calls([GoldCall(api=ref("a")), gold_call("a", x=1)], calls, [])
    assert [one.call for one in found] == [calls[1], calls[0]]
    assert all(one.right for one in found)


def test_schemas_tell_how_arguments_are_compared() -> None:
    (found,) = align_gold_calls([gold_call("a")], [call("a", {"n": 5})], [tool("a", n={"default": 5})])
    assert found.right


def test_calls_of_other_apis_and_of_none_stand_for_nothing() -> None:
    unknown = AskedCall("x", None, "{}", 0.0, False, "unknown tool")
    (found,) = align_gold_calls([gold_call("a")], [call("b", {}), unknown], [])
    assert (found.call, found.right) == (None, False)
