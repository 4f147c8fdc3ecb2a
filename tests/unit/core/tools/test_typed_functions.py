"""Tools as plain functions: typed parameters for frameworks, arguments as the Api has them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Literal

import pytest
from pydantic import TypeAdapter
from support.cases import for_each

from trialbed import ApiRef, Tool, ToolSpec

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "limit": {"type": "integer"},
        "city": {"type": "string", "description": "Where\nit is."},
        "from": {"type": "string", "enum": ["land", "sea"]},
        "ids": {"type": "array", "items": {"type": "integer"}},
        "any": {"type": "integer", "minimum": 1},
        "odd": True,
    },
    "required": ["city", "ids"],
}


class Told(Tool):
    """Says which arguments it got, in place of an Api."""

    def text(self, arguments: Mapping[str, Any]) -> str:
        return repr(dict(arguments))

    async def atext(self, arguments: Mapping[str, Any]) -> str:
        return repr(dict(arguments))


def told(parameters: Mapping[str, Any] = SCHEMA) -> Tool:
    api = ApiRef(category="Data", tool_name="Tool", api_name="api")
    return Told(ToolSpec(name="find", description="Finds it.", parameters=parameters, api=api), "unused")


def test_a_function_has_the_types_of_its_parameters() -> None:
    function = told().as_function()
    assert (function.__name__, inspect.iscoroutinefunction(function)) == ("find", False)
    assert function.__doc__ == "Finds it.\n\nArgs:\n    city: Where it is."
    parameters = dict(inspect.signature(function).parameters)
    assert TypeAdapter(parameters.pop("any").annotation).json_schema()["anyOf"][0] == SCHEMA["properties"]["any"]
    assert {name: (one.annotation, one.default) for name, one in parameters.items()} == {
        "city": (str, inspect.Parameter.empty),
        "ids": (list[int], inspect.Parameter.empty),
        "limit": (int | None, None),
        "from_": (Literal["land", "sea"] | None, None),
        "odd": (Any, None),
    }


async def test_its_arguments_reach_the_api_under_their_names_and_none_is_left_out() -> None:
    function = told().as_function()
    assert function("Oslo", [7], from_="sea", limit=None) == "{'city': 'Oslo', 'ids': [7], 'from': 'sea'}"
    assert await told().as_function(is_async=True)(city="Oslo", ids=None) == "{'city': 'Oslo', 'ids': None}"
    with pytest.raises(TypeError, match="missing a required argument: 'ids'"):
        function("Oslo")


def test_frameworks_make_the_tool_of_it() -> None:
    tools = pytest.importorskip("langchain_core.tools")
    made = tools.tool(told().as_function(), parse_docstring=True)
    assert (made.name, made.description) == ("find", "Finds it.")
    assert made.args["city"] == {"title": "City", "type": "string", "description": "Where it is."}
    assert made.args["ids"]["items"] == {"type": "integer"}
    assert made.invoke({"city": "Oslo", "ids": [7]}) == "{'city': 'Oslo', 'ids': [7]}"


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
    function = told({"$defs": definitions, "properties": {"a": schema}, "required": ["a"]}).as_function()
    made = TypeAdapter(function).json_schema()["properties"]["a"]
    assert {key: value for key, value in made.items() if key != "title"} == expected


def test_a_schema_that_multiplies_is_read_in_bounds() -> None:
    levels = {f"l{n}": {"type": "array", "items": {"anyOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 8}} for n in range(40)}
    function = told({"$defs": levels, "properties": {"all": {"$ref": "#/$defs/l0"}}}).as_function()
    assert function.__name__ == "find"
