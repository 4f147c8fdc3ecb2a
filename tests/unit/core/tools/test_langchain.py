"""Tools of LangChain: the raw schema for models, fields for code, arguments as they were given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from trialbed import ApiRef, Tool, ToolSpec

pytest.importorskip("langchain_core")


API = ApiRef(category="Data", tool_name="Tool", api_name="api")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "where"},
        "_from": {"type": "integer"},
        "json": {"type": "number", "default": 1.5},
        "array[]": {"type": ["array", "null"]},
        "model_name": {"type": ["string", "integer"]},
        "place": {"$ref": "#/$defs/place"},
    },
    "required": ["city"],
    "$defs": {"place": {"enum": ["a", "b"]}},
}


class Kept(Tool):
    """Keeps arguments instead of calling an Api."""

    def text(self, arguments: Mapping[str, Any]) -> str:
        return repr(dict(arguments))

    async def atext(self, arguments: Mapping[str, Any]) -> str:
        return repr(dict(arguments))


def langchain_tool(schema: Mapping[str, Any]) -> Any:
    return Kept(ToolSpec(name="it", description="does it", parameters=schema, api=API), "unused").as_langchain()


def test_fields_describe_the_parameters() -> None:
    fields = langchain_tool(SCHEMA).args_schema.model_fields
    assert {name: (field.annotation, field.is_required(), field.default) for name, field in fields.items()} == {
        "city": (str, True, fields["city"].default),
        "param_from": (int | None, False, None),
        "array__": (list | None, False, None),
        "model_name": (Any | None, False, None),
        "place": (Any | None, False, None),
        "json": (float, False, 1.5),
    }
    assert (fields["city"].description, fields["param_from"].alias) == ("where", "_from")


@pytest.mark.parametrize("arguments", [{}, {"city": 5}, {"_from": "x", "json": None, "unknown": [1]}, {"config": 1}])
@pytest.mark.parametrize("schema", [SCHEMA, {"type": "object", "properties": {}}, {"type": "object"}])
async def test_arguments_reach_the_api_as_they_are(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    tool = langchain_tool(schema)
    expected = repr(arguments)
    assert tool.run(arguments) == expected == tool.func(**arguments)
    assert await tool.ainvoke(arguments) == expected == await tool.coroutine(**arguments) == await tool(**arguments)
    call = {"type": "tool_call", "id": "1", "name": "it", "args": arguments}
    assert tool.invoke(call).content == expected
