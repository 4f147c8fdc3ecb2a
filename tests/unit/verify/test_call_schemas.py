from __future__ import annotations

import socket
from typing import Any

import pytest
from support.cases import for_each

from trialbed_verify.call_schemas import CallFields, call_verdicts, schema_fault

CITY = {"type": "object", "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}}, "required": ["city"]}


def verdict(arguments: Any, schema: Any = CITY, name: str = "look", tools: Any = None) -> CallFields:
    declared = [{"type": "function", "function": {"name": "look", "parameters": schema}}] if tools is None else tools
    call = {"id": "1", "function": {"name": name, "arguments": arguments}}
    (found,) = call_verdicts([call], declared)
    return found


@for_each(
    ("arguments", "reasons"),
    [
        ('{"city": "Oslo"}', ()),
        ('{"city": "Oslo", "more": 1}', ()),
        ({"city": "Oslo"}, ()),
        ("{}", ("missing_required",)),
        ('{"city": 7}', ("wrong_type", "not_in_enum")),
        ('{"city": "Bonn"}', ("not_in_enum",)),
        ("", ("invalid_json",)),
        ('{"city": "Oslo"', ("invalid_json",)),
        ('{"city": "Oslo"} trailing', ("invalid_json",)),
        ('```json\n{"city": "Oslo"}\n```', ("invalid_json",)),
        ('"{\\"city\\": \\"Oslo\\"}"', ("wrong_type",)),
        ("[]", ("wrong_type",)),
        ("null", ("wrong_type",)),
    ],
)
def test_a_call_is_wrong_for_named_reasons(arguments: Any, reasons: tuple[str, ...]) -> None:
    found = verdict(arguments)
    assert (found["valid"], set(found["reasons"])) == (not reasons, set(reasons))


def test_properties_beyond_the_schema_are_wrong_only_where_it_forbids_them() -> None:
    assert verdict('{"city": "Oslo", "x": 1}', {**CITY, "additionalProperties": False})["reasons"] == ["extra_property"]


@for_each("name", ["Look", "look ", "", "other"])
def test_a_tool_that_was_not_declared_is_unknown(name: str) -> None:
    assert verdict("{}", name=name)["reasons"] == ["unknown_tool"]


@for_each("schema", [None, {}, {"type": "object"}])
def test_a_tool_that_declares_nothing_takes_any_object_and_nothing_else(schema: Any) -> None:
    assert verdict("{}", schema)["valid"] is True
    assert verdict('{"a": 1}', schema)["valid"] is True
    assert verdict("[1]", schema)["valid"] is False


@for_each(
    "schema",
    [
        {"type": "int"},
        {"properties": {"n": {"type": "number", "minimum": 0, "exclusiveMinimum": True}}},
        {"$ref": "#/$defs/absent"},
        {"$ref": "https://example.invalid/schema.json"},
        {"properties": {"a": {"$ref": "other.json"}}},
        {"properties": {"a": {"pattern": "(?<year>x"}}},
        [],
        7,
    ],
)
def test_a_schema_of_the_test_set_that_cannot_be_used_is_not_the_vendors_fault(schema: Any) -> None:
    found = verdict('{"a": "x"}', schema)
    assert (found["valid"], found["reasons"]) == (None, ["unusable_schema"])
    assert schema_fault(schema)


def test_no_reference_is_ever_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a schema was asked of the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert verdict("{}", {"$ref": "http://127.0.0.1:9/schema.json"})["valid"] is None


def test_deep_arguments_break_nothing() -> None:
    assert verdict("[" * 3000 + "]" * 3000)["valid"] is False


def test_an_unknown_tool_is_told_with_the_offered_ones_in_their_order() -> None:
    tools: list[Any] = [{"type": "function", "function": {"name": name}} for name in ("b", "a", "b", "c")]
    found = verdict("{}", name="other", tools=tools)
    assert (found["reasons"], found["detail"]) == (["unknown_tool"], "offered: b, a, c")
    assert verdict("{}", name="other", tools=[])["detail"] == "offered: nothing"
