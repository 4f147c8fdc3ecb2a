"""Tools of definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.cases import for_each
from unit.tools.documents import check_refused, imported

SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
WORDS = {"name": "find", "description": "Find an order."}

SPELLINGS: list[Any] = [
    [{"type": "function", "function": {**WORDS, "parameters": SCHEMA}}],
    [{"type": "function", **WORDS, "parameters": SCHEMA, "strict": True}],
    {"tools": [{**WORDS, "input_schema": SCHEMA}]},
    {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{**WORDS, "inputSchema": SCHEMA}]}},
    {"name": "find", "description": "Find an order.", "parameters": SCHEMA},
]


@for_each("document", SPELLINGS)
def test_each_program_spells_the_same_definition(tmp_path: Path, document: Any) -> None:
    (tool,) = imported(tmp_path, document).tools
    assert (tool.name, tool.description, tool.parameters) == ("find", "Find an order.", SCHEMA)


def test_a_tool_may_say_what_its_answers_are_like(tmp_path: Path) -> None:
    answer = {"type": "object", "properties": {"item": {"type": "string"}, "prices": {"items": {"type": "number"}}}}
    first, second, third = imported(
        tmp_path,
        [
            {**WORDS, "inputSchema": SCHEMA, "outputSchema": answer},
            {"function": WORDS, "example": {"id": "int"}},
            WORDS,
        ],
    ).tools
    assert first.example == {"item": "str", "prices": ["float", "float"]}
    assert second.example == {"id": "int"}
    assert third.parameters == {"type": "object", "properties": {}}


FAULTS = [
    ("[]", "must be a list of definitions, with at least one"),
    ({"tools": {}}, "tools: the definition has no name"),
    ({"tools": "x"}, "tools: must be a list of definitions"),
    ([3], "[0]: must be an object, and is 3"),
    ([{"name": 3}, {}], "[0]: the definition has no name; "),
    ([{"name": 3}, {}], "[1]: the definition has no name"),
    ([{"function": []}], "[0].function: must be an object, and is []"),
    ([{"function": {"description": "x"}}], "[0].function: the definition has no name"),
    ([{"name": ""}], "[0]: the definition has no name"),
    ([{"name": {"a": 1}}], "[0]: the definition has no name"),
    ([{"type": "web_search_preview"}], "[0].type: 'web_search_preview' is a tool of the vendor's own"),
    ([{**WORDS, "parameters": []}], "[0].parameters: must be a JSON Schema, and is []"),
    ([{**WORDS, "input_schema": {"type": "array"}}], "[0].input_schema.type: arguments are an object, and not 'array'"),
    ([{"$ref": "#/1"}], "[0].$ref: there is no '#/1'"),
    ([{"$ref": "#/0"}], "[0]: the references lead in a circle"),
    ('[{"name": "a", "name": "b"}]', "the key 'name' occurs twice"),
    ('[{"name": "a"},]', "shop.json:1: is not valid JSON"),
    ('{"result": {"tools": null}}', "result.tools: must be a list of definitions"),
    ("3", "is not an OpenAPI document"),
    ('{"name": "a"}', "is not an OpenAPI document"),
    ("", "is not an OpenAPI document"),
]


@for_each(("document", "says"), FAULTS)
def test_a_fault_is_named_with_file_and_key(tmp_path: Path, document: Any, says: str) -> None:
    check_refused(tmp_path, document, says)


def test_a_definition_with_a_fault_is_left_out_and_named(tmp_path: Path) -> None:
    bad = [{**WORDS, "outputSchema": {"$ref": "x.json"}}, 3, {**WORDS, "inputSchema": "x"}]
    found = imported(tmp_path, [WORDS, *bad])
    assert len(found.tools) == 2
    for says, line in zip(
        ["[2]: must", "[3].inputSchema: must", "'x.json' is in another"], found.left_out, strict=True
    ):
        assert says in line
