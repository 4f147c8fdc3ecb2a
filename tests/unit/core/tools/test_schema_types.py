"""The types of a tool's parameters, of which frameworks make its schema again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from support.cases import for_each

from trialbed import ApiRef, Tool, ToolSpec

ORDER = partial(json.dumps, sort_keys=True)
TEXT = st.text("abc_ -9", min_size=1, max_size=4).filter(lambda name: not name.startswith("_"))
NAMES = st.from_regex(r"[a-z]{1,3}", fullmatch=True).filter(lambda name: name not in ("is", "in", "as", "if", "or"))
CHOICES = st.lists(st.one_of(TEXT, st.integers(-3, 3)), min_size=1, max_size=3, unique_by=repr)
SIMPLE = st.sampled_from([{"type": kind} for kind in ("string", "integer", "number", "boolean")])


def records(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with named properties, some of them required, that may exclude others."""
    described = st.tuples(inner, st.sampled_from(["", "What it is."])).map(
        lambda pair: {**pair[0], "description": pair[1]} if pair[1] and pair[0] else pair[0]
    )
    return st.tuples(st.dictionaries(TEXT, described, min_size=1, max_size=3), st.booleans(), st.booleans()).map(
        lambda of: {
            "type": "object",
            "properties": of[0],
            **({"required": sorted(of[0])[::2]} if of[1] else {}),
            **({"additionalProperties": False} if of[2] else {}),
        }
    )


SCHEMAS = st.recursive(
    st.one_of(SIMPLE, CHOICES.map(lambda choices: {"enum": choices}), st.just({}), st.just({"type": "object"})),
    lambda inner: st.one_of(
        inner.map(lambda item: {"type": "array", "items": item}),
        inner.map(lambda value: {"type": "object", "additionalProperties": value} if value else {"type": "object"}),
        records(inner),
        st.lists(SIMPLE, min_size=2, max_size=3, unique_by=repr).map(lambda parts: {"anyOf": parts}),
    ),
    max_leaves=6,
)


def a_tool(parameters: Mapping[str, Any]) -> Tool:
    api = ApiRef(category="Data", tool_name="Tool", api_name="api")
    return Tool(ToolSpec(name="find", description="Finds it.", parameters=parameters, api=api), "unused")


def inferred(parameters: Mapping[str, Any]) -> Any:
    """The schema that pydantic infers from the function."""
    return TypeAdapter(a_tool(parameters).as_function()).json_schema()


def plain(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """The schema with definitions in their places, in one of the ways to say the same, without titles."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return plain({**definitions[schema["$ref"].rpartition("/")[2]], **beside}, definitions)
    found = {key: value for key, value in schema.items() if key not in ("title", "$defs", "default")}
    if "const" in found or "enum" in found:
        # In an order of their own, as below: `typing` gives back an equal Literal in a list, whose order was another.
        choices = sorted(found.get("enum", [found.get("const")]), key=ORDER)
        return {"enum": choices, **({"description": found["description"]} if "description" in found else {})}
    if "anyOf" in found:  # in an order of their own: unions that differ only in theirs are equal
        found["anyOf"] = sorted((plain(part, definitions) for part in found["anyOf"]), key=ORDER)
    for key in ("items", "additionalProperties"):
        if key in found:
            found[key] = plain(found[key], definitions)
    if found.get("items") == {}:
        del found["items"]
    if found.get("additionalProperties") in ({}, True):
        del found["additionalProperties"]
    if "properties" in found:
        found["properties"] = {name: plain(part, definitions) for name, part in found["properties"].items()}
        found["required"] = sorted(found.get("required", ()))
    return found


@given(schema=SCHEMAS)
def test_the_schema_that_is_made_of_a_function_is_that_of_the_tool(schema: Any) -> None:
    parameters = {"type": "object", "properties": {"given": schema}, "required": ["given"]}
    made = inferred(parameters)
    assert plain(made["properties"]["given"], made.get("$defs", {})) == plain(schema, {})


@given(schemas=st.dictionaries(NAMES, SCHEMAS, min_size=1, max_size=3))
def test_an_argument_that_may_be_left_out_may_be_none(schemas: dict[str, Any]) -> None:
    made = inferred({"type": "object", "properties": schemas})
    assert made.get("required", []) == []
    for name, schema in schemas.items():
        found = plain(made["properties"][name], made.get("$defs", {}))
        wanted = plain(schema, {})
        if "anyOf" in wanted:
            assert found["anyOf"] == sorted([*wanted["anyOf"], {"type": "null"}], key=ORDER)
        else:
            assert found in (wanted, {"anyOf": sorted([wanted, {"type": "null"}], key=ORDER)})


HALF = "a\ud800"


@for_each(
    ("schema", "expected"),
    [
        ({"type": ["string", "integer"]}, {"type": ["string", "integer"]}),
        ({"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^a"}),
        ({"enum": [HALF, "b"]}, {"enum": ["a\ufffd", "b"], "type": "string"}),
        ({"$ref": "#/$defs/node"}, {"type": "object", "properties": {"next": {}, "kind": {"const": "leaf"}}}),
        ({"type": "array", "items": {"$ref": "#/$defs/kind"}}, {"type": "array", "items": {"const": "leaf"}}),
        ({"$ref": "#/nowhere"}, {}),
        (True, {}),
    ],
)
def test_a_type_has_the_schema_of_its_values(schema: Any, expected: Any) -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "kind": {"$ref": "#/$defs/kind"}}}
    definitions = {"node": node, "kind": {"const": "leaf"}}
    made = inferred({"$defs": definitions, "properties": {"a": schema}, "required": ["a"]})["properties"]["a"]
    assert {key: value for key, value in made.items() if key != "title"} == expected


def test_a_schema_that_multiplies_is_read_in_bounds() -> None:
    levels = {f"l{n}": {"type": "array", "items": {"anyOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 8}} for n in range(40)}
    function = a_tool({"$defs": levels, "properties": {"all": {"$ref": "#/$defs/l0"}}}).as_function()
    assert function.__name__ == "find"
