"""Right answers are right: their arguments are valid for every schema that allows any."""

from __future__ import annotations

import json
from typing import Any

from support.cases import for_each

from trialbed.wire.hard_schemas import HardSchema, hard_schemas
from trialbed.wire.json_schemas import JsonSchema
from trialbed_scripted.schemas import filled_json, filled_with, minimal_arguments, valid_json


@for_each("hard", hard_schemas(), ids=lambda hard: hard.name)
def test_arguments_for_hard_schemas_are_valid(hard: HardSchema) -> None:
    arguments = valid_json(hard.parameters)
    assert arguments is not None
    assert JsonSchema(hard.parameters).is_valid(json.loads(arguments))


NODE = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}}


@for_each(
    "schema",
    [
        {"type": "string"},
        {"type": ["null"]},
        {"enum": [2, 45]},
        {"const": {"a": 1}},
        {"type": "integer", "minimum": 7, "multipleOf": 5},
        {"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 1.2},
        {"type": "integer", "maximum": -3},
        {"type": "string", "default": "hello", "pattern": "^[a-z]+$", "minLength": 9},
        {"type": "string", "pattern": r"^\p{L}+ \p{L}+$"},
        {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "uniqueItems": True},
        {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "null"}, "minItems": 3},
        {"type": "array", "contains": {"const": 7}},
        {"anyOf": [False, {"type": "integer"}]},
        {
            "oneOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"b": {"type": "string"}}}],
            "type": "object",
        },
        {"allOf": [{"properties": {"a": {"minimum": 3}}}, {"properties": {"a": {"maximum": 3}}, "required": ["a"]}]},
        {"type": "object", "minProperties": 2, "propertyNames": {"maxLength": 3}},
        {"type": "object", "required": ["a"], "dependentRequired": {"a": ["b"]}, "additionalProperties": False}
        | {"properties": {"a": {}, "b": {"type": "integer"}}},
        {"$defs": {"node": {**NODE, "required": ["next"]}}, "$ref": "#/$defs/node"},
        {"$defs": {"a/b": {"type": "integer"}}, "properties": {"x": {"$ref": "#/$defs/a~1b"}}, "required": ["x"]},
    ],
    ids=json.dumps,
)
def test_arguments_are_valid(schema: Any) -> None:
    arguments = valid_json(schema)
    assert arguments is not None
    assert JsonSchema(schema).is_valid(json.loads(arguments))


VERY_LONG = {"type": "string", "pattern": "^(a{400}){400}$"}


@for_each("schema", [{"type": "string", "minLength": 10**12}, {"allOf": [False]}, {"enum": []}, VERY_LONG])
def test_where_nothing_can_be_valid_there_are_no_arguments(schema: Any) -> None:
    assert valid_json(schema) is None


@for_each("schema", [None, {}, {"type": "int"}, {"$ref": "#/absent"}])
def test_a_schema_that_says_nothing_is_given_an_object(schema: Any) -> None:
    assert valid_json(schema) == "{}"


def test_minimal_arguments_are_taken_from_the_schema() -> None:
    schema = {
        "properties": {"d": {"default": 3}, "e": {"enum": ["x", "y"]}, "n": {"type": "integer"}, "free": {}},
        "required": ["d", "e", "n", "free", "unknown"],
    }
    assert minimal_arguments(schema) == {"d": 3, "e": "x", "n": 1, "free": "sample", "unknown": "sample"}


@for_each(
    "schema",
    [
        {"type": "object", "properties": {"answer": {"type": "string"}}, "required": True},
        {"allOf": {"type": "object"}, "anyOf": 1},
        {"allOf": [{"properties": ["a"]}, {"properties": {"a": {}}}], "properties": {"a": 1}},
        {"allOf": [{"minLength": "3"}, {"minLength": 2}], "minLength": {}, "format": ["date"]},
        {"allOf": [{"enum": 3, "required": "a"}], "enum": ["b"], "required": ["b"]},
    ],
)
def test_keywords_with_odd_values_stop_nobody(schema: dict[str, Any]) -> None:
    filled_with(schema, "Paris")
    assert filled_json(schema, "Paris")
