"""Arguments under schemas that frameworks made of a tool's own."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator
from support.backtracking import processor_time
from support.cases import for_each
from support.examples import examples

from trialbed.wire.hard_schemas import hard_schemas
from trialbed_scripted.policies._fitting import Inexpressible, fit

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ONE: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
}


def strict(schema: Any, *, nullable: bool) -> Any:
    """A schema as OpenAI's strict mode wants it: all is required, nothing else is allowed.

    Args:
        nullable: whether what was optional can be null, as OpenAI says and CrewAI does; OpenAI's own SDK does not.
    """
    if not isinstance(schema, dict):
        return schema
    made = {key: value for key, value in schema.items() if key != "default"}
    for key in ("anyOf", "oneOf", "allOf"):
        if key in made:
            made[key] = [strict(part, nullable=nullable) for part in made[key]]
    for key in ("$defs", "definitions"):
        if key in made:
            made[key] = {name: strict(part, nullable=nullable) for name, part in made[key].items()}
    if "items" in made:
        made["items"] = strict(made["items"], nullable=nullable)
    if made.get("type") == "object":
        required = set(made.get("required", ()))
        properties = {name: strict(part, nullable=nullable) for name, part in made.get("properties", {}).items()}
        if nullable:
            properties = {
                name: part if name in required else {"anyOf": [part, {"type": "null"}]}
                for name, part in properties.items()
            }
        made |= {"properties": properties, "required": list(properties), "additionalProperties": False}
    return made


SCALARS: list[tuple[dict[str, Any], st.SearchStrategy[Any]]] = [
    ({"type": "string"}, st.text(max_size=5)),
    ({"type": "integer", "minimum": 1}, st.integers(1, 99)),
    ({"type": "number"}, st.floats(-9, 9)),
    ({"type": "boolean"}, st.booleans()),
    ({"enum": ["a", "b"], "type": "string"}, st.sampled_from(["a", "b"])),
    ({"type": ["string", "null"]}, st.none() | st.text(max_size=3)),
]
Case = tuple[dict[str, Any], Any]


@st.composite
def cases(draw: st.DrawFn, depth: int = 2) -> Case:
    """A schema of an object, and a value that it allows."""
    properties, required, value = {}, [], {}
    for name in draw(st.lists(st.sampled_from(["a", "b_c", "D", "from", "_x"]), unique=True, max_size=4)):
        schema, item = draw(values(depth - 1))
        properties[name] = schema
        if draw(st.booleans()):
            required.append(name)
            value[name] = item
        elif draw(st.booleans()):
            value[name] = item
    return {"type": "object", "properties": properties, "required": required}, value


@st.composite
def values(draw: st.DrawFn, depth: int) -> Case:
    if depth and draw(st.booleans()):
        schema, value = draw(cases(depth))
        kind = draw(st.sampled_from(["plain", "list", "choice"]))
        if kind == "list":
            return {"type": "array", "items": schema}, [value] * draw(st.integers(0, 2))
        if kind == "choice":
            return {"oneOf": [{"type": "integer"}, schema]}, value
        return schema, value
    schema, strategy = draw(st.sampled_from(SCALARS))
    return schema, draw(strategy)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def is_within(value: Any, other: Any) -> bool:
    """Whether all of a value stands at the same places of another."""
    if isinstance(value, dict):
        return isinstance(other, dict) and all(
            name in other and is_within(item, other[name]) for name, item in value.items()
        )
    if isinstance(value, list):
        return isinstance(other, list) and len(value) == len(other) and all(map(is_within, value, other))
    return bool(value == other)


@settings(max_examples=examples(1))
@given(cases())
def test_under_a_strict_schema_arguments_are_valid_and_say_the_same(case: Case) -> None:
    schema, value = case
    offered = strict(schema, nullable=True)
    before = copy.deepcopy(value)
    found = fit(value, schema, offered)
    assert Draft202012Validator(offered).is_valid(found.arguments)
    assert without_nulls(found.arguments) == without_nulls(value)
    assert not found.filled
    assert value == before


@settings(max_examples=examples(1))
@given(cases())
def test_where_nothing_can_be_null_what_is_made_up_is_told(case: Case) -> None:
    schema, value = case
    offered = strict(schema, nullable=False)
    found = fit(value, schema, offered)
    assert Draft202012Validator(offered).is_valid(found.arguments)
    assert is_within(value, found.arguments)
    assert (found.arguments == value) or found.filled or without_nulls(found.arguments) == without_nulls(value)


@settings(max_examples=examples(0.5))
@given(cases())
def test_the_tools_own_schema_changes_nothing(case: Case) -> None:
    schema, value = case
    assert fit(value, schema, copy.deepcopy(schema)).arguments is value
    assert fit(value, schema, {**schema, "title": "T"}).arguments == value


@for_each("schema", hard_schemas(), ids=lambda schema: schema.name)
@for_each("nullable", [True, False])
def test_hard_schemas_are_fitted_or_said_to_be_lost(schema: Any, nullable: bool) -> None:
    offered = strict(schema.parameters, nullable=nullable)
    try:
        found = fit(schema.arguments, schema.parameters, offered)
    except Inexpressible:
        return
    assert Draft202012Validator(offered).is_valid(found.arguments)
    assert is_within(schema.arguments, found.arguments)


@for_each(
    ("arguments", "own", "offered", "expected"),
    [
        ({"city-name": "Oslo"}, {}, {"properties": {"city_name": {}}}, {"city_name": "Oslo"}),
        ({"a": {"_x": 1}}, {}, {"properties": {"a": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"properties": {"x": {}}}}},
         {"a": {"x": 1}}),
        ({"a": 1}, {}, {"properties": {"a": {"$ref": "#/$defs/gone"}}}, {"a": 1}),
        ({"city": "Oslo"}, ONE, {**ONE, "required": ["city", "days"]}, {"city": "Oslo", "days": 1}),
        ({}, ONE, {**ONE, "additionalProperties": False}, {}),
        ({"city": 1}, ONE, strict(ONE, nullable=True), {"city": 1, "days": None}),
        ([], ONE, strict(ONE, nullable=True), []),
        ({"m": {"x": 1}}, {}, {"properties": {"m": {"patternProperties": {"^x": {}}, "additionalProperties": False}}},
         {"m": {"x": 1}}),
        ({"a": 1}, {}, {"not": "a schema", "type": 7, "properties": {"a": {}}}, {"a": 1}),
    ],
)  # fmt: skip
def test_what_is_played(arguments: Any, own: Any, offered: Any, expected: Any) -> None:
    assert fit(arguments, own, offered).arguments == expected


@for_each(
    ("arguments", "offered", "reason"),
    [
        ({"m": {"x": 1}}, {"properties": {"m": {"type": "object", "additionalProperties": False}}}, "m.x: .* no such"),
        ({"lost": 1}, {"properties": {"a": {}}, "additionalProperties": False}, "lost: .* no such property"),
        ({"a": 3}, {"properties": {"a": {"type": "string"}}}, "a: 3 is not of type 'string'"),
        ({"a-b": 1, "a.b": 2}, {"properties": {"a_b": {}}, "additionalProperties": False}, "no such property"),
        ({}, {"properties": {"a": {"not": {}}}, "required": ["a"]}, "a: .* requires it"),
        ({"a": {"b": 1}}, {"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}, "a"),
    ],
)
def test_what_cannot_be_said_is_lost(arguments: Any, offered: Any, reason: str) -> None:
    with pytest.raises(Inexpressible, match=reason):
        fit(arguments, {}, offered)


def test_what_is_made_up_is_the_default_of_the_tool_where_it_has_one() -> None:
    properties = {"days": {"type": "integer", "default": 7}, "unit": {"enum": ["C", "F"]}, "at": {"type": "string"}}
    own = {"type": "object", "properties": properties}
    found = fit({}, own, strict(own, nullable=False))
    assert found.filled == {"days": 7, "unit": "C", "at": ""}


ODD = (None, 1, True, "x", [], {}, ["x"], [["x"]], [1], {"a": 1}, [None])


@for_each("odd", ODD, ids=repr)
@for_each("keyword", ["properties", "required", "patternProperties", "additionalProperties", "type"])
def test_what_is_no_schema_is_no_exception(keyword: str, odd: Any) -> None:
    try:
        fitted = fit({"city": "Oslo"}, {"type": "object", keyword: odd}, CITY)
    except Inexpressible:
        return
    assert fitted is not None


def test_a_pattern_of_a_framework_takes_bounded_steps() -> None:
    """With a backtracking engine and no bound, this one takes longer than the universe has existed."""
    endless = {"type": "object", "patternProperties": {"^(\\w+)+!$": {"type": "integer"}}}
    name = "x" * 60
    assert fit({name: "Oslo"}, endless, {"type": "object", "properties": {name: {}}}).arguments == {name: "Oslo"}


def test_of_an_enum_only_the_first_values_are_tried() -> None:
    numbers = {"type": "integer", "enum": ["a"] * 40_000}
    offered = {"type": "object", "$defs": {"e": numbers}, "properties": {"n": {"$ref": "#/$defs/e"}}, "required": ["n"]}
    # Each value against the whole schema would take minutes.
    with processor_time(10), pytest.raises(Inexpressible, match="it is not known which values it takes"):
        fit({}, {"type": "object"}, offered)
