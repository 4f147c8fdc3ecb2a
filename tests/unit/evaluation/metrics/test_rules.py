"""How arguments are compared, and what the diagnosis says of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import DataError, UsageError
from trialbed_evaluation.conversations import ToolCall
from trialbed_evaluation.metrics import (
    RULES,
    tool_call_accuracy,
)


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


def test_every_rule_is_tried_here_or_below() -> None:
    assert set(RULES) == {
        "exact", "number", "text", "date", "list", "set", "object", "regex", "ignore",
    }  # fmt: skip


def test_rules_of_parts_of_an_argument() -> None:
    given, wanted = {"city": "Rome", "tags": ["A", "b"]}, {"city": "Oslo", "tags": ["a", "b"]}
    call, right = ToolCall("f", {"filter": given}), ToolCall("f", {"filter": wanted})
    assert tool_call_accuracy([call], [right]).value == 0.5
    assert tool_call_accuracy([call], [right], rules={"f.filter.city": "ignore"}).value == 1.0
    assert tool_call_accuracy([call], [right], rules={"filter.tags[]": "exact"}).value == 0.25


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


def test_arguments_without_a_bottom_are_refused() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(DataError, match="nested too deeply"):
        tool_call_accuracy([ToolCall("f", {"x": deep})], [ToolCall("f", {"x": [deep]})])


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


def test_a_misspelt_rule_has_a_suggestion() -> None:
    with pytest.raises(UsageError, match="did you mean 'number'"):
        one(1, 1, rule="nubmer")


def test_a_reference_that_is_no_pattern_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'\(' is not a regular expression"):
        one("a", "(", rule="regex")


@pytest.mark.parametrize(
    "tools", [[{"type": "function", "function": {"name": "f", "parameters": {"properties": {"x": {"enum": ["A"]}}}}}]]
)
def test_openai_definitions_give_schemas(tools: Any) -> None:
    assert tool_call_accuracy([ToolCall("f", {"x": "a"})], [ToolCall("f", {"x": "A"})], tools=tools).value == 0.0


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


def test_many_calls_of_one_tool_are_paired_at_best() -> None:
    """More than are tried one by one."""
    right = [ToolCall("f", {"x": place, "y": place % 2}) for place in range(6)]
    made = [ToolCall("f", {"x": place, "y": 1 - place % 2}) for place in (3, 5, 0, 1, 4, 2)]
    assert tool_call_accuracy(made, right, order="flexible").value == 0.5
