from __future__ import annotations

import pytest
from support.scoring import api_call, gold_call, model_call, scores, sent_call, values

from trialbed.records import ApiCall, GoldCall

GOLD = [gold_call("a", city="Pelluin", days=3), gold_call("b", id="X1")]


@pytest.mark.parametrize(
    ("called", "accuracy", "f1"),
    [
        ([api_call("a", {"city": "Pelluin", "days": 3}), api_call("b", {"id": "X1"})], 1, 1),
        ([api_call("b", {"id": "X1"}), api_call("a", {"days": 3.0, "city": "pelluin "})], 1, 1),
        ([api_call("a", {"city": "Pelluin", "days": 4}), api_call("b", {"id": "X1"})], 0.75, 0.75),
        ([api_call("a", {"city": "Pelluin"}), api_call("b")], 0.25, 0.25),
        ([api_call("a", {"city": "Pelluin", "days": 3, "extra": 1}), api_call("b", {"id": "X1"})], 5 / 6, 5 / 6),
        ([api_call("b", {"id": "X1"})], 0.5, 2 / 3),
        ([api_call("b", {"id": "X1"}), api_call("b", {"id": "X1"}), api_call("c")], 0.5, 0.4),
        ([api_call("a", {"city": "?"}, error="bad"), api_call("a", {"city": "Pelluin", "days": 3})], 0.5, 0.5),
        ([], 0, 0),
    ],
)
async def test_calls_are_compared_with_the_gold_calls(called: list[ApiCall], accuracy: float, f1: float) -> None:
    found = await values(GOLD, called)
    assert found["argument_accuracy"] == pytest.approx(accuracy)
    assert found["tool_call_f1"] == pytest.approx(f1)


async def test_the_detail_says_which_argument_differs() -> None:
    called = [api_call("a", {"city": "Pelluin", "day": 3}), api_call("c")]
    detail = (await scores(GOLD, called))["argument_accuracy"].detail
    assert detail["calls"] == [
        {
            "gold": ["t", "a", {"city": "Pelluin", "days": 3}],
            "called": {"city": "Pelluin", "day": 3},
            "points": pytest.approx(1 / 3),
            "difference": "days is missing; day is not in the expected call",
        },
        {"gold": ["t", "b", {"id": "X1"}], "called": None, "points": 0.0, "difference": "not called"},
    ]
    assert detail["others"] == [["t", "c", {}]]
    assert detail["reason"] == "t_a: days is missing; day is not in the expected call; t_b: not called"


@pytest.mark.parametrize("gold", [[], ["a"], ["a", "b"]])
async def test_without_gold_arguments_there_is_nothing_to_compare(gold: list[GoldCall]) -> None:
    found = await scores(gold, [api_call("a")])
    assert {"argument_accuracy", "tool_call_f1", "tool_call_accuracy"}.isdisjoint(found)


async def test_gold_calls_without_arguments_take_any_call_but_have_no_accuracy() -> None:
    found = await values(["a", gold_call("a", x=1)], [api_call("a", {"x": 1}), api_call("a", {"x": 7})])
    assert (found["argument_accuracy"], found["tool_call_f1"]) == (1, 1)


async def test_calls_that_reach_no_api_count_as_calls() -> None:
    asked = [model_call(sent=[sent_call("b", "{", "invalid json"), sent_call("b", '{"id": "X1"}')])]
    found = await scores([GOLD[1]], [api_call("b", {"id": "X1"}, started=1)], asked)
    assert found["tool_call_f1"].value == pytest.approx(2 / 3)
    assert found["argument_accuracy"].value == 1


async def test_calls_that_nobody_asked_for_count_for_nothing() -> None:
    called = [api_call("b", {"id": "X1"})]
    assert (await values([GOLD[1]], called, unasked=called))["tool_call_f1"] == 0
