"""Schemas as JSON Schema demands, values that cannot make a check run without end, and schemas that are hard."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator, meta
from support.cases import for_each

from trialbed import HardSchema, hard_schemas
from trialbed.wire.json_schemas import JsonSchema, SchemaProblem, Undecided, UnusableSchema

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


@for_each(
    ("schema", "right", "wrong"),
    [
        # Regular expressions of ECMA 262, which are not anchored, and whose classes are those of ASCII.
        ({"pattern": r"^\p{L}+$"}, "Ærø", "1"),
        ({"pattern": r"^(?<y>\d{4})$"}, "2024", "24"),
        ({"pattern": r"^[\w-.]+$"}, "a-b.c", "a b"),
        ({"pattern": r"^\d$"}, "3", "٣"),
        ({"pattern": "x$"}, "ax", "x\n"),
        ({"pattern": "^(?=.*b)a"}, "ab", "a"),
        ({"patternProperties": {r"^[\w-.]$": {"type": "string"}}}, {"-": "x"}, {"-": 1}),
        # Numbers.
        ({"type": "number"}, 1.5, float("nan")),
        ({"type": "number"}, 10**30, float("inf")),
        ({"type": "integer"}, 1.0, 1.5),
        ({"type": "integer"}, 1, True),
        ({"multipleOf": 0.01}, 19.99, 19.999),
        # Drafts.
        ({"$schema": DRAFT_4, "minimum": 1, "exclusiveMinimum": True}, 2, 1),
        ({"$schema": DRAFT_7, "items": [{"type": "string"}]}, ["a"], [1]),
        ({"$schema": "https://acme.example/dialect", "type": "string"}, "a", 1),
        ({"prefixItems": [{"type": "string"}]}, ["a"], [1]),
        # References.
        ({"$defs": {"a b": {"type": "string"}}, "$ref": "#/$defs/a%20b"}, "x", 1),
        ({"properties": {"a": {"$ref": "#"}, "b": {"type": "string"}}}, {"a": {"b": "x"}}, {"a": {"b": 1}}),
        ({"$id": "any of these", "anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "string"}}}, "x", 1),
        ({"enum": [{"$ref": "#/absent"}]}, {"$ref": "#/absent"}, {}),
        ({"const": {"$ref": "http://acme.example/x"}}, {"$ref": "http://acme.example/x"}, {}),
        ({"type": "string", "default": {"$ref": "#/absent"}}, "x", 1),
        ({"properties": {"$ref": {"type": "string"}}}, {"$ref": "x"}, {"$ref": 1}),
        ({"properties": {"pattern": {"type": "string"}}}, {"pattern": "["}, {"pattern": 1}),
        (True, 1, None),
    ],
)
def test_values_fit_as_json_schema_says(schema: Any, right: Any, wrong: Any) -> None:
    checked = JsonSchema(schema)
    assert checked.is_valid(right)
    assert not checked.is_valid(wrong) or schema is True


@for_each(
    ("schema", "reason"),
    [
        (7, "7"),
        ([], "[]"),
        (None, "null"),
        ({"type": "int"}, "type"),
        ({"properties": {"a": {"pattern": "(?<y>x"}}}, "(at /properties/a/pattern)"),
        ({"properties": {"a": {"required": "b"}}}, "(at /properties/a/required)"),
        ({"$ref": "#/$defs/absent"}, "/$defs/absent"),
        ({"$ref": "https://acme.example/schema.json"}, "not fetched"),
        ({"properties": {"a": {"$ref": "other.json"}}}, "other.json"),
        ({"$ref": "#"}, "'#' leads back to itself"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, "back to itself"),
        ({"$schema": 5}, "5"),
        ({"$id": "#name", "type": "object"}, "#name"),
    ],
)
def test_a_schema_that_cannot_be_used_says_why_and_where(schema: Any, reason: str) -> None:
    with pytest.raises(UnusableSchema) as refused:
        JsonSchema(schema)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a schema was asked of the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(UnusableSchema):
        JsonSchema({"$ref": "http://127.0.0.1:9/schema.json"})
    with pytest.raises(UnusableSchema):
        JsonSchema({"$ref": "file:///etc/hostname"})


def test_a_pattern_that_takes_forever_elsewhere_is_matched_at_once() -> None:
    assert not JsonSchema({"pattern": r"^(\w+\s?)*$"}).is_valid("a" * 34 + "!")


def test_a_pattern_that_takes_too_many_steps_is_undecided() -> None:
    with pytest.raises(Undecided, match="too many steps"):
        JsonSchema({"pattern": r"^(a|a)*(?=b)$"}).problems("a" * 60 + "c")


NODE = {"properties": {"a": {"$ref": "#/$defs/node"}, "bad": False}}
TREE = {"$defs": {"node": {"anyOf": [NODE, NODE]}}, "$ref": "#/$defs/node"}


def nested(levels: int, **last: int) -> Any:
    value: Any = last
    for _ in range(levels):
        value = {"a": value}
    return value


def test_alternatives_within_alternatives_are_checked_at_once() -> None:
    assert len(JsonSchema(TREE).problems(nested(4, bad=1))) == 1
    assert JsonSchema(TREE).problems(nested(100)) == ()
    assert JsonSchema(TREE).problems(nested(100, bad=1)) == (
        SchemaProblem("anyOf", (), "the value fits none of the alternatives"),
    )


def test_problems_have_their_keyword_and_place() -> None:
    schema = {"properties": {"a": {"items": {"type": "string"}}}, "required": ["b"], "additionalProperties": False}
    found = {problem.keyword: problem for problem in JsonSchema(schema).problems({"a": ["x", 1], "c": 1})}
    assert set(found) == {"type", "required", "additionalProperties"}
    assert found["type"].path == ("a", 1)
    assert len(JsonSchema(schema).problems({"a": [1] * 9}, most=2)) == 2


EACH = for_each("schema", hard_schemas(), ids=lambda schema: schema.name)


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        yield from nodes(item)


@EACH
def test_a_schema_is_valid_and_so_are_its_arguments(schema: HardSchema) -> None:
    meta.validate(schema.parameters)
    assert not list(Draft202012Validator(schema.parameters).iter_errors(schema.arguments))


def test_there_are_many_and_none_is_another_one() -> None:
    assert len(hard_schemas()) >= 60
    assert len({schema.name for schema in hard_schemas()}) == len(hard_schemas())
    assert len({schema.description for schema in hard_schemas()}) == len(hard_schemas())
    assert len({json.dumps(schema.parameters) + schema.name for schema in hard_schemas()}) == len(hard_schemas())
