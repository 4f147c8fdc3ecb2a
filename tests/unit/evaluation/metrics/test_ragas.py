"""``compat="ragas"`` gives Ragas 0.4.3's values, quirks and all."""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import DataError, JudgeError
from trialbed_evaluation.conversations import ToolCall
from trialbed_evaluation.metrics import (
    Step,
    agent_goal_accuracy_with_reference,
    agent_goal_accuracy_without_reference,
    replayed,
    tool_call_accuracy,
    tool_call_f1,
    topic_adherence,
)

ROOT = Path(__file__).parents[4]
DATA = Path(os.environ.get("TRIALBED_TEST_DATA", ROOT.parent / "shared" / "data")) / "ragas"


def lines(name: str) -> Iterator[dict[str, Any]]:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"Ragas's recorded values are not at {path}; set TRIALBED_TEST_DATA to the folder that holds them")
    yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def call(name: str = "f", **args: Any) -> ToolCall:
    return ToolCall(name, args)


def accuracy(made: Any, right: Any, order: Any = "strict") -> float:
    return tool_call_accuracy(made, right, order=order, compat="ragas").value


def f1(made: Any, right: Any) -> float:
    return tool_call_f1(made, right, compat="ragas").value


def test_recorded_tool_calls_have_ragas_values() -> None:
    for case in lines("toolcall_parity.jsonl"):
        made, right = case["predicted"], case["reference"]
        assert accuracy(made, right) == pytest.approx(case["tool_call_accuracy_strict"], abs=1e-12), case["id"]
        assert accuracy(made, right, "flexible") == pytest.approx(case["tool_call_accuracy_flexible"], abs=1e-12)
        assert f1(made, right) == case["tool_call_f1"], case["id"]


def test_recorded_steps_have_ragas_values() -> None:
    for case in lines("llm_metric_parity.jsonl"):
        values, asked = asyncio.run(from_steps(case))
        assert len(asked) == case["n_llm_calls"], case["id"]
        assert sorted(map(inputs, asked)) == sorted(map(as_json, case["step_inputs_without_conversation"])), case["id"]
        if asked:
            assert asked[0].inputs.get("user_input", asked[0].inputs.get("workflow")) == case["rendered_conversation"]
        for key, wanted in case["expected"].items():
            if isinstance(wanted, dict):
                assert isinstance(values, (DataError, JudgeError)), case["id"]
            else:
                assert not isinstance(values, Exception), case["id"]
                same = math.isnan(values[key]) if wanted == "NaN" else values[key] == wanted
                assert same, case["id"]


async def from_steps(case: Mapping[str, Any]) -> tuple[dict[str, Any] | Exception, list[Step]]:
    recorded, asked = replayed(case["llm_outputs"]), []

    async def model(step: Step) -> Any:
        asked.append(step)
        return await recorded(step)

    conversation = case["conversation"]
    try:
        if case["metric"] == "topic_adherence":
            found = await topic_adherence(conversation, case["reference_topics"], model=model, compat="ragas")
            return {name: getattr(found, name) for name in ("precision", "recall", "f1")}, asked
        if case["metric"].endswith("without_reference"):
            goal = await agent_goal_accuracy_without_reference(conversation, model=model, compat="ragas")
        else:
            goal = await agent_goal_accuracy_with_reference(
                conversation, case["reference"], model=model, compat="ragas"
            )
    except (DataError, JudgeError) as error:
        return error, asked
    return {"value": goal.value}, asked


def inputs(step: Step) -> str:
    rest = {name: value for name, value in step.inputs.items() if name not in ("user_input", "workflow")}
    return as_json({"step": step.name, **rest})


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@for_each(
    ("made", "right", "accurate", "equal"),
    [
        (75, "75", True, False),
        (75, 75.0, False, True),
        (True, "True", True, False),
        (True, "true", False, False),
        (True, 1, False, True),
        (None, "None", True, False),
        (1e16, "1e+16", True, False),
        ("Paris", "paris", False, False),
        ("Paris", "Paris ", False, False),
        ("\u00e9", "e\u0301", False, False),
        ([1, 2], "[1, 2]", True, False),
        ([1, 2], "[1,2]", False, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False, True),
        ([1], [1.0], False, True),
        ({"a": 1}, {"a": "1"}, False, False),
        (0.0, -0.0, False, True),
        (2**53 + 1, 2.0**53, False, False),
        ({}, [], False, False),
        ([1, 2], [2, 1], False, False),
        (None, None, True, True),
        ([[1, {"k": [2]}]], [[1, {"k": [2]}]], True, True),
    ],
)
def test_accuracy_compares_texts_and_f1_compares_values(made: Any, right: Any, accurate: bool, equal: bool) -> None:
    assert accuracy([call(x=made)], [call(x=right)]) == float(accurate)
    assert f1([call(x=made)], [call(x=right)]) == float(equal)


@pytest.mark.parametrize("order", ["strict", "flexible"])
def test_empty_lists(order: str) -> None:
    assert accuracy([], [], order) == 1.0
    assert accuracy([], [call()], order) == 0.0
    assert accuracy([call()], [], order) == 0.0
    assert f1([], []) == f1([], [call()]) == f1([call()], []) == 0.0


@pytest.mark.parametrize("order", ["strict", "flexible"])
def test_any_extra_or_missing_call_is_all_wrong(order: str) -> None:
    assert accuracy([call(), call()], [call()], order) == 0.0
    assert accuracy([call()], [call(), call()], order) == 0.0
    assert f1([call(), call()], [call()]) == 1.0


def test_extra_arguments_cost_nothing_unless_the_reference_has_none() -> None:
    assert accuracy([call(a=1, b=2)], [call(a=1)]) == 1.0
    assert accuracy([call(a=1)], [call()]) == 0.0
    assert accuracy([call(a=1)], [call(a=1, b=2)]) == 0.5
    assert f1([call(a=1, b=2)], [call(a=1)]) == 0.0


def test_flexible_order_sorts_and_may_pair_badly() -> None:
    made, right = [call(a=0, x=2), call(x=1)], [call(x=1), call(x=2)]
    assert accuracy(made, right, "flexible") == 0.0
    assert tool_call_accuracy(made, right, order="flexible").value == 0.75


def test_sums_are_in_the_order_of_the_pairs() -> None:
    right = [ToolCall("b", {"x": 1, "y": 2, "z": 3}), ToolCall("a", dict.fromkeys("uvw", 1)), ToolCall("c", {})]
    made = [ToolCall("b", {"x": 1}), ToolCall("a", {"u": 1}), ToolCall("c", {})]
    assert accuracy(made, right) == (0.0 + 1 / 3 + 1 / 3 + 1.0) / 3
    assert accuracy(made[::-1], right, "flexible") == (0.0 + 1 / 3 + 1 / 3 + 1.0) / 3


def test_f1_rounds_the_harmonic_mean_as_ragas_does() -> None:
    made = [call("f", x=place) for place in range(20)]
    right = [call("f", x=0), *(call("g", x=place) for place in range(43))]
    assert f1(made, right) == 0.0313


async def adherence(refused: list[Any], classes: list[Any], topics: list[str] | None = None) -> tuple[Any, ...]:
    names = topics or [f"topic {place}" for place in range(len(refused))]
    outputs = {
        "topic_extraction": {"topics": names},
        "topic_refused": [
            {"topic": name, "refused_to_answer": answer} for name, answer in zip(names, refused, strict=True)
        ],
        "topic_classification": {"classifications": classes},
    }
    messages = [{"type": "human", "content": "?"}]
    found = await topic_adherence(messages, ["science"], model=replayed(outputs), compat="ragas")
    return found.precision, found.recall, found.f1


async def test_topic_adherence_never_reaches_one() -> None:
    assert await adherence([False], [True]) == (0.9999999999, 0.9999999999, 0.99999999985)
    precision, recall, _ = await adherence([False] * 3, [True, True, False])
    assert (precision, recall) == (0.6666666666444444, 0.99999999995)


async def test_classifications_that_are_not_booleans() -> None:
    assert await adherence([False], ["Yes"]) == await adherence([False], [1]) == await adherence([False], [True])
    assert await adherence([False], ["off"]) == await adherence([False], [0]) == await adherence([False], [False])
    assert await adherence([False], ["on"]) == await adherence([False], [True])


@pytest.mark.parametrize("value", ["maybe", "", 2, 0.5, None, []])
async def test_what_pydantic_does_not_take_for_a_boolean_is_refused(value: Any) -> None:
    with pytest.raises(JudgeError, match="true or false"):
        await adherence([False], [True, value])
    with pytest.raises(JudgeError, match="true or false"):
        await adherence([value], [True])


async def test_no_topics_is_nan_after_one_question() -> None:
    model = replayed({"topic_extraction": {"topics": []}})
    found = await topic_adherence([], ["science"], model=model, compat="ragas")
    assert all(math.isnan(value) for value in (found.precision, found.recall, found.f1))


async def test_off_topic_refused_is_zero() -> None:
    assert await adherence([True], [False]) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("verdict", ["2", "true", 1, True, None])
async def test_other_verdicts_are_refused(verdict: Any) -> None:
    outputs = {
        "infer_goal_outcome": {"user_goal": "g", "end_state": "e"},
        "compare_outcome": {"reason": "", "verdict": verdict},
    }
    with pytest.raises(JudgeError, match="compare_outcome"):
        await agent_goal_accuracy_without_reference([], model=replayed(outputs), compat="ragas")


async def test_the_conversation_is_written_as_ragas_does() -> None:
    asked: list[Step] = []

    async def model(step: Step) -> dict[str, Any]:
        asked.append(step)
        return {"user_goal": "", "end_state": "", "verdict": "1", "reason": ""}

    messages = [
        {"type": "human", "content": "a\nb"},
        {"type": "ai", "content": ""},
        {"type": "ai", "content": "", "tool_calls": []},
        {"type": "ai", "content": "so", "tool_calls": [{"name": "f", "args": {"x": None, "y": ["it's", True]}}]},
        {"type": "tool", "content": "t"},
    ]
    await agent_goal_accuracy_with_reference(messages, " ", model=model, compat="ragas")
    assert asked[0].inputs["workflow"] == (
        "Human: a\nb\n\nTools:\nAI: so\nTools:\n  f: {'x': None, 'y': [\"it's\", True]}\nToolOutput: t"
    )
    assert asked[1].inputs == {"desired_outcome": " ", "arrived_outcome": ""}
