"""Arguments for schemas: valid ones, wrong ones, and schemas that take too much work."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from support.cases import for_each

from trialbed.contracts import QuestionRefused
from trialbed.records import ApiRef, ScriptedCall, ToolSpec
from trialbed.wire.dialects import dialect
from trialbed.wire.hard_schemas import HardSchema, hard_schemas
from trialbed.wire.json_schemas import JsonSchema
from trialbed_scripted.policies import PolicyModel
from trialbed_scripted.schemas import minimal_arguments, valid_json, wrong_arguments


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


def test_minimal_arguments_are_taken_from_the_schema() -> None:
    schema = {
        "properties": {"d": {"default": 3}, "e": {"enum": ["x", "y"]}, "n": {"type": "integer"}, "free": {}},
        "required": ["d", "e", "n", "free", "unknown"],
    }
    assert minimal_arguments(schema) == {"d": 3, "e": "x", "n": 1, "free": "sample", "unknown": "sample"}


CITY = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
SCHEMAS: dict[str, dict[str, Any]] = {
    "one is required": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    "none is required": {"type": "object", "properties": {"a": {"type": "integer"}}},
    "everything is allowed": {"type": "object", "properties": {}},
    "nothing is said": {},
    "by reference": {"type": "object", "properties": {"city": {"$ref": "#/$defs/City"}}, "$defs": {"City": CITY}},
    "by reference to a property": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}},
        "required": ["b"],
    },
}


@for_each("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_wrong_arguments_violate_the_schema(schema: dict[str, Any]) -> None:
    wrong = wrong_arguments(minimal_arguments(schema), schema)
    assert not (isinstance(wrong, dict) and Draft202012Validator(schema).is_valid(wrong))


def test_what_is_missing_comes_before_what_is_of_a_wrong_type() -> None:
    schema = SCHEMAS["one is required"]
    assert wrong_arguments({"a": "x"}, schema) == {}
    assert wrong_arguments({"a": "x"}, SCHEMAS["none is required"]) == {"a": {"unexpected": True}}
    assert wrong_arguments({}, {}) == []


PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = ToolSpec(
    name="weather",
    description="The weather of a city.",
    parameters=PARAMETERS,
    api=ApiRef(category="a", tool_name="b", api_name="c"),
)
BRANCHES = 30
LEVELS = {
    f"level{number}": {
        "anyOf": [
            {
                "type": "object",
                "properties": {"next": {"$ref": f"#/$defs/level{number + 1}"}},
                "required": ["next"],
                "title": f"{branch}",
            }
            for branch in range(BRANCHES)
        ]
    }
    for number in range(12)
}
INTRICATE: dict[str, Any] = {
    "a list of 40,000 values of which none fits": {"type": "integer", "enum": ["a"] * 40_000},
    "alternatives in alternatives": {"$ref": "#/$defs/level0"},
    "300 long patterns": {"allOf": [{"type": "string", "pattern": rf"^[\w\s]{{1,4096}}{n}$"} for n in range(300)]},
    "3,000 properties": {
        "type": "object",
        "properties": {f"p{n}": {"type": "integer", "minimum": 5} for n in range(3000)},
        "required": [f"p{n}" for n in range(3000)],
    },
    "100,000 items": {"type": "array", "minItems": 100_000, "items": {"type": "integer"}},
    "a number that no float is": {"type": "number", "minimum": 10**400, "multipleOf": 3},
}


def asked(parameters: Any, name: str = TOOL.name, **more: Any) -> Any:
    tools = [{"type": "function", "function": {"name": name, "description": "?", "parameters": parameters}}]
    document = {"model": "m", "messages": [{"role": "user", "content": "Oslo?"}], "tools": tools, **more}
    return PolicyModel("gold", [ScriptedCall(name=TOOL.name, arguments={"city": "Oslo"})], [TOOL]).turn(
        dialect().read_request(document)
    )


@pytest.mark.parametrize("case", INTRICATE)
def test_an_intricate_schema_is_refused_within_two_seconds(case: str) -> None:
    schema = {
        "type": "object",
        "properties": {"p": INTRICATE[case]},
        "required": ["p"],
        "$defs": {**LEVELS, "level12": {"type": "integer", "enum": ["a"]}},
    }
    began = time.process_time()
    with pytest.raises(QuestionRefused):
        asked(schema)
    assert time.process_time() - began < 2
