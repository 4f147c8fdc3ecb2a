"""Metrics of tool calls: how arguments are compared, what the diagnosis says, and laws for all calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import for_each
from support.examples import examples
from support.scoring import api_call, context, gold_call, model_call, sent_call

from trialbed import scorer
from trialbed.errors import UsageError
from trialbed_evaluation.conversations import ToolCall
from trialbed_evaluation.metrics import tool_call_accuracy, tool_call_f1, trial_sample


def one(given: Any, wanted: Any, schema: Any = None, rule: str | None = None) -> tuple[float, str]:
    """Points and rule of one argument."""
    tools = {"f": {"properties": {"x": schema}}} if schema is not None else None
    rules = {"f.x": rule} if rule else None
    found = tool_call_accuracy([ToolCall("f", {"x": given})], [ToolCall("f", {"x": wanted})], tools=tools, rules=rules)
    (argument,) = found.diagnosis.calls[0].arguments
    return found.value, argument.rule


@for_each(
    ("schema", "wanted", "rule"),
    [
        ({"type": "string"}, "a", "text"),
        ({"type": "string", "enum": ["a"]}, "a", "exact"),
        ({"const": "a"}, "a", "exact"),
        ({"type": "string", "pattern": "^a"}, "a", "exact"),
        ({"type": "string", "format": "uuid"}, "a", "exact"),
        ({"type": "string", "format": "date"}, "a", "date"),
        ({"type": "string"}, "2026-05-02", "date"),
        ({"type": ["string", "null"]}, "a", "text"),
        ({"type": ["null", "integer"]}, 1, "number"),
        ({"anyOf": [{"type": "null"}, {"type": "string", "format": "email"}]}, "a", "exact"),
        ({"type": "integer"}, 1, "number"),
        ({"type": "number"}, "1", "number"),
        ({"type": "boolean"}, True, "exact"),
        ({"type": "array"}, [1], "list"),
        ({"type": "array", "uniqueItems": True}, [1], "set"),
        ({"type": "object"}, {}, "object"),
        ({}, 1, "number"),
        ({}, None, "exact"),
        ({}, True, "exact"),
        ({}, [1], "list"),
        ({}, {"a": 1}, "object"),
        ({}, "a", "text"),
        ({"type": 5, "anyOf": 3, "items": [], "properties": 1}, "a", "text"),
    ],
)
def test_the_schema_chooses_the_rule_and_a_value_is_itself(schema: Any, wanted: Any, rule: str) -> None:
    assert one(wanted, wanted, schema) == (1.0, rule)


@for_each(
    ("given", "wanted", "rule", "points"),
    [
        (1, 1.0, "exact", 1),
        (True, 1, "exact", 0),
        ("a", "A", "exact", 0),
        ({"a": [1, {"b": 2}]}, {"a": [1.0, {"b": 2}]}, "exact", 1),
        ([1, 2], [1, 2, 3], "exact", 0),
        ("1e2", 100, "number", 1),
        (0.1 + 0.2, 0.3, "number", 1),
        (2**53 + 1, 2**53, "number:0", 0),
        (2**53 + 1, 2**53, "number", 0),
        (40211398761, 40211398762, "number", 0),
        ("40211398761", 40211398762, "number", 0),
        (40211398761.0, 40211398762, "number", 0),
        (40211398761.0, 40211398761, "number", 1),
        (40211398761.25, 40211398761.250001, "number", 1),
        (101, 100, "number:0.02", 1),
        (103, 100, "number:0.02", 0),
        (True, 1, "number", 0),
        ("nan", 1, "number", 0),
        (10**400, 1.5, "number", 0),
        (" new   YORK", "New York", "text", 1),
        ("e\u0301", "\u00e9", "text", 1),
        ("\uff21", "a", "text", 1),
        ("Rome", "Roma", "text", 0),
        (75, "75", "text", 1),
        (None, "None", "text", 0),
        ("2 May 2026", "2026-05-02", "date", 1),
        ("May 2, 2026", "2026-05-02", "date", 1),
        ("2026-05-02T00:00:00Z", "2026-05-02", "date", 1),
        ("2026-05-02T12:00:00+02:00", "2026-05-02T10:00:00Z", "date", 1),
        ("10:00", "10:00:00", "date", 1),
        ("02/05/2026", "2026-05-02", "date", 0),
        ("tomorrow", "Tomorrow", "date", 1),
        ("0001-01-01T00:00+14:00", "0001-01-02", "date", 0),
        (5, "2026-05-02", "date", 0),
        ([1, 2, 3], [1, 2, 4], "list", 2 / 3),
        ([2, 1], [1, 2], "list", 0),
        ([], [], "list", 1),
        ("a", ["a"], "list", 0),
        ([2, 1], [1, 2], "set", 1),
        ([1, 1], [1, 2], "set", 1 / 3),
        (["ROME"], ["Rome", "Oslo"], "set", 1 / 2),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, "object", 1 / 2),
        ({"a": 1, "c": 2}, {"a": 1}, "object", 1 / 2),
        ({}, {}, "object", 1),
        ("order 55", r"order \d+", "regex", 1),
        ("my order 55", r"order \d+", "regex", 0),
        (42, r"\d\d", "regex", 1),
        ("abc", "whatever", "regex:[a-c]{3}", 1),
    ],
)  # fmt: skip
def test_each_rule(given: Any, wanted: Any, rule: str, points: float) -> None:
    found = one(given, wanted, rule=rule)
    assert found[0] == pytest.approx(points)
    assert found[1] == rule


def test_ignored_arguments_do_not_count() -> None:
    right = [ToolCall("f", {"id": 1, "x": 1})]
    for args in ({"id": 2, "x": 1}, {"x": 1}):
        assert tool_call_accuracy([ToolCall("f", args)], right, rules={"id": "ignore"}).value == 1.0
    more = [ToolCall("f", {"id": 1, "x": 1, "trace": "t"})]
    assert tool_call_accuracy(more, right, rules={"f.trace": "ignore"}).value == 1.0
    assert tool_call_accuracy(more, right, rules={"g.trace": "ignore"}).value == pytest.approx(2 / 3)


def test_defaults_and_null_are_as_good_as_nothing() -> None:
    tools = {"f": {"properties": {"unit": {"type": "string", "default": "C"}, "n": {"type": "integer"}}}}
    with_default, without = ToolCall("f", {"unit": "c", "n": None}), ToolCall("f", {})
    assert tool_call_accuracy([without], [with_default], tools=tools).value == 1.0
    assert tool_call_accuracy([with_default], [without], tools=tools).value == 1.0
    assert tool_call_accuracy([ToolCall("f", {"unit": "F"})], [without], tools=tools).value == 0.0
    assert tool_call_accuracy([without], [ToolCall("f", {"unit": "F"})], tools=tools).value == 0.0


def test_a_reference_without_arguments_is_right_with_any() -> None:
    assert tool_call_accuracy([ToolCall("f", {"x": 1})], ["f"]).value == 1.0
    assert tool_call_accuracy([ToolCall("g", {})], ["f"]).value == 0.0


def test_arguments_that_are_not_json_are_quoted() -> None:
    broken = {"type": "function", "function": {"name": "f", "arguments": '{"x": 1'}}
    result = tool_call_accuracy([broken], [ToolCall("f", {"x": 1})])
    assert result.value == 0
    assert '{"x": 1' in result.reason


@for_each("text", ['{"x": NaN}', '{"x": 1e999}', "[" * 9999, '{"x": 1, "x": 2}', "[1]", "7"])
def test_what_a_model_wrote_is_no_error(text: str) -> None:
    result = tool_call_accuracy([{"name": "f", "arguments": text}], [ToolCall("f", {"x": 1})])
    assert result.value == 0
    assert "the arguments are" in result.diagnosis.calls[0].note


@for_each(
    ("rule", "said"),
    [("fuzzy", "there is no rule 'fuzzy'"), ("text:5", "takes no parameter"), ("number:x", "wrong parameter"),
     ("number:-1", "wrong parameter"),
     ("regex:(", "wrong parameter")],
)  # fmt: skip
def test_a_wrong_rule_is_refused(rule: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        one(1, 1, rule=rule)


def test_a_pattern_that_takes_for_ever_is_stopped() -> None:
    with pytest.raises(UsageError, match=r"'\(a\|aa\)\+' was stopped after 0.5 s on 'aaaa"):
        one("a" * 200 + "!", "", rule="regex:(a|aa)+")
    with pytest.raises(UsageError, match="nested too deeply"):
        one("a", "", rule=f"regex:{'(' * 5000}a{')' * 5000}")


def test_the_diagnosis_is_readable_and_json() -> None:
    made = [ToolCall("a", {"x": 1}), ToolCall("a", {"x": 1}), ToolCall("c", {}), ToolCall("b", {"y": "Rome", "z": 1})]
    right = [ToolCall("b", {"y": "Oslo"}), ToolCall("a", {"x": 1}), ToolCall("d", {})]
    result = tool_call_accuracy(made, right)
    assert result.reason.splitlines() == [
        "tool_call_accuracy 0.2 = 1 point of 5 calls (strict order)",
        "  call 1   reference 2  a(x=1): matched 1.00",
        "  call 2   -            a(x=1): duplicate 0.00",
        "  call 3   -            c(): extra 0.00",
        "  -        reference 3  d(): missing 0.00",
        '  call 4   reference 1  b(y="Rome", z=1): out of order 0.00; others come before it',
        '      y: "Rome" instead of "Oslo" (text) 0.00',
        "      z: 1 is extra (extra) 0.00",
    ]
    assert json.loads(json.dumps(result.diagnosis.as_json()))["calls"][1]["status"] == "duplicate"
    assert float(result) == result.value == 0.2


NAMES = st.sampled_from(["search", "book", "rate"])
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, -0.0]), st.sampled_from(["a", "A ", "b", "1"]),
    st.lists(st.integers(0, 2), max_size=2), st.dictionaries(st.sampled_from("kl"), st.integers(0, 2), max_size=2),
)  # fmt: skip
CALLS = st.builds(ToolCall, NAMES, st.dictionaries(st.sampled_from(["x", "y", "z"]), VALUES, max_size=3))
LISTS = st.lists(CALLS, max_size=5)
SCHEMA = {
    "properties": {
        "x": {"type": ["integer", "string", "null"], "default": 1},
        "y": {"type": "array", "uniqueItems": True},
    }
}
TOOLS = st.sampled_from([{}, {"search": SCHEMA}])
ORDERS = st.sampled_from(["strict", "flexible"])


def near(value: float) -> Any:
    return pytest.approx(value, abs=1e-9)


@given(LISTS, LISTS, TOOLS, ORDERS)
@settings(max_examples=examples(0.6))
def test_range(made: Any, right: Any, tools: Any, order: Any) -> None:
    accuracy = tool_call_accuracy(made, right, order=order, tools=tools)
    assert 0 <= accuracy.value <= 1 + 1e-12
    assert 0 <= tool_call_f1(made, right, tools=tools).value <= 1 + 1e-12
    for compat in (
        tool_call_accuracy(made, right, order=order, compat="ragas"),
        tool_call_f1(made, right, compat="ragas"),
    ):
        assert 0 <= compat.value <= 1
        assert str(compat.diagnosis)


@given(LISTS, LISTS, ORDERS)
@settings(max_examples=examples(0.3))
def test_the_diagnosis_has_each_call_once_and_adds_up(made: Any, right: Any, order: Any) -> None:
    diagnosis = tool_call_accuracy(made, right, order=order).diagnosis
    assert sorted(row.made for row in diagnosis.calls if row.made is not None) == list(range(len(made)))
    assert sorted(row.right for row in diagnosis.calls if row.right is not None) == list(range(len(right)))
    points = sum(row.points for row in diagnosis.calls)
    assert diagnosis.value == (near(points / len(diagnosis.calls)) if diagnosis.calls else 1.0)


@given(LISTS, TOOLS, ORDERS)
@settings(max_examples=examples(0.3))
def test_identity(calls: Any, tools: Any, order: Any) -> None:
    assert tool_call_accuracy(calls, calls, order=order, tools=tools).value == near(1.0)
    assert tool_call_f1(calls, calls, tools=tools).value == near(1.0)


@given(LISTS, LISTS)
@settings(max_examples=examples(0.3))
def test_order_never_gives_points(made: Any, right: Any) -> None:
    strict = tool_call_accuracy(made, right, order="strict").value
    assert strict <= tool_call_accuracy(made, right, order="flexible").value + 1e-9


@given(LISTS, LISTS, st.randoms())
@settings(max_examples=examples(0.3))
def test_flexible_order_and_f1_know_no_order(made: Any, right: Any, random: Any) -> None:
    mixed = random.sample(made, len(made))
    flexible = tool_call_accuracy(made, right, order="flexible").value
    assert tool_call_accuracy(mixed, right, order="flexible").value == near(flexible)
    assert tool_call_f1(mixed, right).value == near(tool_call_f1(made, right).value)


GOLD = [gold_call("a", city="Pelluin", days=3), gold_call("b", id="X1")]


def sample(trial: Any, **more: Any) -> Any:
    return trial_sample(trial.query, trial.tools, trial.wire, trial.answer, unasked=trial.unasked, **more)


def test_a_trial_is_a_sample_with_the_tools_names() -> None:
    asked = [model_call(sent=[sent_call("b", "{", "invalid json")])]
    found = sample(context(GOLD, [api_call("a", {"city": "Pelluin"}, response={"ok": 1}, started=1)], asked))
    assert found.reference == (ToolCall("t_a", {"city": "Pelluin", "days": 3}), ToolCall("t_b", {"id": "X1"}))
    assert [(call.name, call.args) for call in found.calls] == [("t_b", {}), ("t_a", {"city": "Pelluin"})]
    assert "{" in found.calls[0].problem
    assert [message.role for message in found.messages] == ["user", *["assistant", "tool"] * 2, "assistant"]
    assert found.messages[-2].content == '{"ok": 1}'


def test_a_trial_that_failed_has_no_calls_and_no_messages() -> None:
    trial = context(GOLD, [api_call("a")])
    found = trial_sample(trial.query, trial.tools, trial.wire, None)
    assert (found.calls, found.messages, found.id) == ((), None, "1")


async def test_a_metric_scores_trials() -> None:
    @scorer
    def flexible(trial: Any) -> float:
        return tool_call_accuracy(sample(trial), order="flexible").value

    trial = context(GOLD, [api_call("b", {"id": "X1"}), api_call("a", {"city": "pelluin", "days": 4})])
    (score,) = await flexible.score_trial(trial)
    assert (score.name, score.value) == ("flexible", 0.75)
