"""Schemas as JSON Schema demands, and values that cannot make a check run without end."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from support.cases import for_each

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


def test_half_a_character_is_one() -> None:
    schema = {"additionalProperties": {"maxLength": 2}}
    assert JsonSchema(schema).is_valid({"a": "x\ud83d"})
    assert [problem.keyword for problem in JsonSchema(schema).problems({"\ud83d": ["x\ud83dy"], "b": "x\ud83dy"})] == [
        "maxLength"
    ]


def test_problems_have_their_keyword_and_place() -> None:
    schema = {"properties": {"a": {"items": {"type": "string"}}}, "required": ["b"], "additionalProperties": False}
    found = {problem.keyword: problem for problem in JsonSchema(schema).problems({"a": ["x", 1], "c": 1})}
    assert set(found) == {"type", "required", "additionalProperties"}
    assert found["type"].path == ("a", 1)
    assert len(JsonSchema(schema).problems({"a": [1] * 9}, most=2)) == 2
