"""Expected arguments that more than one value meets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from trialbed import Task, about, any_value, call, evaluate, one_of, optional, regex, unordered
from trialbed.errors import UsageError
from trialbed.tasks import TaskDataset


def pay(amount: float, to: str, on: str = "", tags: list[str] | None = None, note: dict[str, str] | None = None) -> str:
    """Pay somebody."""
    return "paid"


async def unawaited(value: Any) -> bool:
    return False


TOLERANT: dict[str, Any] = {
    "amount": about(12.5, 0.1),
    "to": one_of("ann", "bo"),
    "on": optional(regex(r"2026-\d\d-\d\d", "2026-12-10")),
    "tags": unordered(["a", "b"]),
    "note": {"kind": any_value("gift"), "by": optional("me")},
}
PAID: dict[str, Any] = {
    "amount": 12.6, "to": "bo", "on": "2026-01-01", "tags": ["b", "a"], "note": {"kind": "x", "by": "me"},
}  # fmt: skip


def solved(expected: dict[str, Any], made: dict[str, Any]) -> bool:
    def agent(query: str, tools: list[Any]) -> str:
        tools[0].invoke(made)
        return "done"

    task = Task("Pay.", tools=[pay], expect="done", calls=[call("pay", **expected)])
    (trial,) = evaluate(agent, [task], progress=False).trials()
    score = trial.score("argument_accuracy")
    checked = trial.score("sopr_score")
    assert score is not None
    assert checked is not None
    return score.value == 1 and checked.label == "Solved"


@pytest.mark.parametrize(
    ("change", "right"),
    [
        ({}, True),
        ({"on": None, "note": {"kind": "y"}}, True),
        ({"amount": 12.7}, False),
        ({"to": "cy"}, False),
        ({"on": "tomorrow"}, False),
        ({"tags": ["a"]}, False),
        ({"note": {"kind": "x", "by": "you"}}, False),
        ({"note": {"by": "me"}}, False),
    ],
)
def test_a_call_is_right_if_its_values_meet_the_expected_ones(change: dict[str, Any], right: bool) -> None:
    made = {name: value for name, value in {**PAID, **change}.items() if value is not None}
    assert solved(TOLERANT, made) is right


def test_a_call_with_an_argument_that_a_function_refuses_is_wrong_wherever_it_is_counted() -> None:
    def agent(query: str, tools: list[Any]) -> str:
        tools[0].invoke({"amount": 30, "to": "ann"})
        return "done"

    def is_small(amount: float) -> bool:
        return amount < 20

    task = Task("Pay.", tools=[pay], expect="done", calls=[call("pay", amount=is_small, to="ann")])
    report = evaluate(agent, [task], name="refused", progress=False)
    (trial,) = report.trials()
    assert trial.score("argument_accuracy").value == 0.5  # type: ignore[union-attr]
    assert trial.score("tool_call_f1").value == 0.5  # type: ignore[union-attr]
    (lost,) = trial.gold_calls or ()
    assert (lost.lost, lost.reason) == ("wrong arguments", "amount: 30 is refused by pay(amount): is_small")


def test_scripted_models_send_examples() -> None:
    Path("tasks.py").write_text(
        "from trialbed import Task, tool\n@tool\ndef pay(amount: float, to: str, on: str) -> str:\n    return 'paid'\n"
        "tasks = []\n"
    )
    Path("tasks.yaml").write_text(
        "tools: tasks.py:pay\ntasks:\n- query: Pay.\n  expect:\n    calls:\n"
        "    - pay: {amount: {$about: 12.5, within: 0.1}, to: {$any: }, on: {$matches: '20[0-9]+', example: '2026'}}\n"
    )
    report = evaluate("reference", "tasks.yaml", progress=False)
    assert report["reference"].scores["argument_accuracy"].value == 1
    (trial,) = report.trials()
    assert trial.wire.api_calls[0].arguments == {"amount": 12.5, "to": "example", "on": "2026"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (re.compile("a+"), r"task 1: calls: pay: to: re.compile\('a\+'\) is not a value of JSON; write regex"),
        (regex("a+", "b"), r"task 1: calls: pay: to: \$matches takes a pattern, and as 'example'"),
        (unawaited, r"to: <function unawaited at .*> is not a value of JSON; a function that is not async can stand"),
        ({"$about": 1}, r"pay: to: \$about takes a number, and the largest difference"),
        ({"by": {"$aboot": 12}}, r"pay: to\.by: \$aboot: these are not the keys of a matcher; did you mean '\$about"),
    ],
)
def test_a_wrong_one_is_refused_by_task_and_argument(value: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate("reference", [Task("Pay.", tools=[pay], calls=[call("pay", to=value)])])


def test_a_key_that_is_like_a_matchers_is_a_value_where_the_tool_or_a_database_has_it() -> None:
    def search(where: dict[str, Any]) -> str:
        """Search."""
        return "done"

    schema = {"type": "object", "properties": {"where": {"type": "object", "properties": {"$anny": {}, "$and": {}}}}}
    definition = {"type": "function", "function": {"name": "search", "description": "", "parameters": schema}}
    calls = [call("search", where={"$and": [{"price": {"$gt": 5}}], "$anny": 1})]
    with pytest.raises(UsageError, match=r"\$and, \$anny: these are not the keys of a matcher"):
        TaskDataset([Task("Find.", tools=[search], calls=calls)])
    (query,) = TaskDataset([Task("Find.", tools=[definition], calls=calls)]).queries()
    assert query.gold_calls[0].arguments == calls[0].arguments
