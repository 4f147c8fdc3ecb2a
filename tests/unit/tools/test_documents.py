"""Documents of tools: definitions and OpenAPI."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import DataError
from trialbed.wire.json_schemas import JsonSchema
from trialbed_tools.documents import FoundTools, find_tools, read_openapi
from trialbed_tools.located import Located

NAME = "shop.json"


def imported(folder: Path, document: Any) -> FoundTools:
    """The tools of a document, which may be given as its text."""
    path = folder / NAME
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return find_tools(str(path))


def with_part(document: dict[str, Any], *path: str | int, value: Any) -> dict[str, Any]:
    """A document with another value at a place."""
    made = deepcopy(document)
    part: Any = made
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return made


def check_refused(folder: Path, document: Any, says: str) -> None:
    """See that a document is refused in few words, which begin with its file and name what is wrong."""
    with pytest.raises(DataError) as raised:
        imported(folder, document)
    assert says in str(raised.value)
    assert str(raised.value).startswith(str(folder / NAME))
    assert len(str(raised.value)) < 500


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
    ([{"name": 3}, {}], "[0]: the definition has no name; "),
    ([{"type": "web_search_preview"}], "[0].type: 'web_search_preview' is a tool of the vendor's own"),
    ([{**WORDS, "parameters": []}], "[0].parameters: must be a JSON Schema, and is []"),
    ([{**WORDS, "input_schema": {"type": "array"}}], "[0].input_schema.type: arguments are an object, and not 'array'"),
    ([{"$ref": "#/1"}], "[0].$ref: there is no '#/1'"),
    ([{"$ref": "#/0"}], "[0]: the references lead in a circle"),
    ('[{"name": "a", "name": "b"}]', "the key 'name' occurs twice"),
    ('[{"name": "a"},]', "shop.json:1: is not valid JSON"),
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


SHOP: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Shop", "version": "2"},
    "servers": [{"url": "https://{host}/v1/", "variables": {"host": {"default": "shop.example"}}}],
    "paths": {
        "/orders/{id}": {
            "parameters": [{"$ref": "#/components/parameters/Id"}],
            "get": {
                "operationId": "find order",
                "summary": "Find an order.",
                "description": "With its lines.",
                "parameters": [
                    {"name": "fields", "in": "query", "explode": False, "schema": {"type": "array", "items": {}}},
                    {"name": "key", "in": "query", "schema": {"type": "string"}},
                    {"name": "X-Shop", "in": "header", "schema": {"type": "string", "nullable": True}},
                    {"name": "color", "in": "query", "style": "deepObject", "schema": {"type": "object"}},
                    {"name": "filter", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
                    {"name": "tags", "in": "query", "style": "pipeDelimited", "schema": {"type": "array"}},
                    {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
                    {"name": "Größe", "in": "header", "schema": {"type": "string"}},
                    {"name": "seen", "in": "cookie", "schema": {"type": "string"}},
                ],
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}}
                },
            },
            "put": {
                "requestBody": {"$ref": "#/components/requestBodies/Order"},
                "responses": {"204": {"description": "done"}},
            },
        },
        "/orders": {
            "post": {
                "operationId": "find order",
                "requestBody": {
                    "content": {"application/x-www-form-urlencoded": {"schema": {"$ref": "#/components/schemas/Order"}}}
                },
            },
            "get": {"parameters": [{"name": "Größe", "in": "header", "required": True}]},
            "head": {"parameters": [{"name": "tags", "in": "query", "style": "pipeDelimited", "required": True}]},
            "patch": {"requestBody": {"required": True, "content": {"application/octet-stream": {}}}},
            "x-note": "no operation",
        },
    },
    "components": {
        "parameters": {"Id": {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}},
        "requestBodies": {
            "Order": {
                "required": True,
                "content": {
                    "application/json": {
                        "schema": {"allOf": [{"$ref": "#/components/schemas/Order"}, {"required": ["price"]}]}
                    }
                },
            }
        },
        "schemas": {
            "Order": {
                "type": "object",
                "required": ["item", "made"],
                "properties": {
                    "item": {"type": "string", "example": "lamp", "xml": {"name": "i"}},
                    "price": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
                    "made": {"type": "string", "format": "date", "readOnly": True},
                    "state": {"type": "string", "enum": ["open", "paid"], "nullable": True},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Order"}},
                },
            }
        },
        "securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "key"}},
    },
}


def test_an_operation_is_a_tool(tmp_path: Path) -> None:
    found = imported(tmp_path, SHOP)
    find, put, post = found.tools
    assert (found.title, found.url) == ("Shop 2", "https://shop.example/v1")
    assert (find.name, find.description) == ("find order", "Find an order.\nWith its lines.")
    assert find.parameters == {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "fields": {"type": "array", "items": {}},
            "X-Shop": {"type": ["string", "null"]},
            "color": {"type": "object"},
            "filter": {"type": "object"},
        },
        "required": ["id"],
    }
    assert find.request == {
        "method": "GET",
        "path": "/orders/{id}",
        "query": ["fields", "color", "filter"],
        "headers": ["X-Shop"],
        "styles": {"fields": "commas", "color": "deep", "filter": "json"},
    }
    assert (put.name, put.request) == ("put /orders/{id}", {"method": "PUT", "path": "/orders/{id}", "body": "json"})
    # A form that need not be sent may not be sent in part.
    assert (post.request, post.parameters["properties"].keys()) == (
        {"method": "POST", "path": "/orders", "body": "form", "whole_body": "body"},
        {"body"},
    )
    assert found.left_out == (
        "GET /orders/{id}: the parameter 'tags' in the style pipeDelimited, which is optional",
        "GET /orders/{id}: the header 'Größe', which is not a valid name, which is optional",
        "GET /orders/{id}: the cookie 'seen', which is optional",
        "GET /orders: it needs the header 'Größe', which is not a valid name",
        "HEAD /orders: it needs the parameter 'tags' in the style pipeDelimited",
        "PATCH /orders: its body is 'application/octet-stream'",
    )


def test_the_fields_of_a_body_stand_beside_parameters_and_end_where_they_repeat_themselves(tmp_path: Path) -> None:
    _, put, _ = imported(tmp_path, SHOP).tools
    assert put.parameters == {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "item": {"type": "string"},
            "price": {"type": "number", "exclusiveMinimum": 0},
            "state": {"type": ["string", "null"], "enum": ["open", "paid", None]},
            "parts": {"type": "array", "items": {"type": "object"}},
        },
        "required": ["id", "item", "price"],
    }
    JsonSchema(dict(put.parameters))


def test_an_answer_has_the_form_of_its_schema(tmp_path: Path) -> None:
    example = imported(tmp_path, SHOP).tools[0].example
    assert example == {
        "item": "str",
        "price": "float",
        "made": {"_one_of": ["2026-03-14", "2026-05-02", "2026-08-21", "2026-11-09"]},
        "state": {"_one_of": ["open", "paid", None]},
        "parts": [{"_list_length": 2}],
    }


@for_each("url", ["/v1", "", "https://me:secret@shop.example/v1"])
def test_the_address_of_a_document_gives_no_keys_to_the_file(url: str) -> None:
    document = Located("shop.json", changed("servers", 0, "url", value=url))
    found = read_openapi(document, "https://me:secret@shop.example/openapi.json?key=secret")
    assert str(found.url).startswith("https://shop.example/")
    assert "secret" not in str(found)


changed = partial(with_part, SHOP)


GET = ("paths", "/orders/{id}", "get")
OPENAPI_FAULTS: list[tuple[Any, str]] = [
    ("{", "shop.json:1: is not valid JSON"),
    ("a: [", "shop.json:1: is not valid YAML"),
    ('{\n"openapi": "3.0.0", "openapi": "3.0.1"}', "is not valid JSON: the key 'openapi' occurs twice"),
    ('{"openapi": NaN}', "NaN is not JSON"),
    ("[" * 100_000, "is not valid JSON"),
    ("just words", "is not an OpenAPI document"),
    (changed("openapi", value="1.2"), "openapi: version '1.2' is neither OpenAPI 3 nor 2.0"),
    (changed("paths", "orders", value={}), "paths.orders: a path begins with /"),
    (changed("servers", 0, "variables", value={}), "servers[0].variables: 'host' has no default"),
]


OPERATION_FAULTS: list[tuple[Any, str]] = [
    (changed("paths", "/orders/{id}", value=None), "paths./orders/{id}: must be an object, and is None"),
    (changed("paths", "/orders/{id}", value={"$ref": "#/paths/~1orders~1{id}"}), "/orders/{id}: "),
    (changed(*GET, "parameters", 0, value={"in": "query"}), "get.parameters[0]: the parameter has no name"),
    (changed(*GET, "parameters", 0, "in", value="body"), "get.parameters[0].in: 'body' is not one of path, query"),
    (changed("paths", "/orders/{id}", "parameters", value=[]), "the path has {id}, and no parameter of this name"),
    (changed("components", "parameters", value={}), "parameters[0].$ref: there is no '#/components/parameters/Id'"),
    (
        changed("components", "parameters", "Id", value={"$ref": "#/components/parameters/Id"}),
        "components.parameters.Id: the references lead in a circle",
    ),
    (
        changed("paths", "/orders/{id}", "parameters", 0, "$ref", value="other.yaml#/Id"),
        "parameters[0].$ref: there is no document 'other.yaml'",
    ),
]


@for_each(("document", "says"), OPENAPI_FAULTS)
def test_a_fault_of_openapi_is_named_with_file_and_key(tmp_path: Path, document: Any, says: str) -> None:
    check_refused(tmp_path, document, says)


@for_each(("document", "says"), OPERATION_FAULTS)
def test_an_operation_with_a_fault_is_left_out_and_named(tmp_path: Path, document: Any, says: str) -> None:
    found = imported(tmp_path, document)
    assert "find order" in [tool.name for tool in found.tools]
    (line, *_) = [line for line in found.left_out if says in line]
    assert f"/orders/{{id}}: {tmp_path / 'shop.json'}" in line


SCHEMA_FAULTS: list[tuple[Any, str]] = [
    (changed(*GET, "parameters", 0, "schema", value=[]), "get.parameters[0].schema: must be an object, and is []"),
    (
        changed("components", "schemas", "Order", "properties", "parts", "items", "$ref", value="#/components/nowhere"),
        "parts.items.$ref: there is no '#/components/nowhere'",
    ),
    (
        changed("components", "schemas", "Order", value={"$ref": "#/components/schemas/Order"}),
        "components.schemas.Order: the references lead in a circle",
    ),
]


@for_each(("document", "says"), SCHEMA_FAULTS)
def test_a_schema_with_a_fault_costs_no_operation(tmp_path: Path, document: Any, says: str) -> None:
    found = imported(tmp_path, document)
    assert len(found.tools) == 3
    assert f"{tmp_path / 'shop.json'}: " in found.left_out[-1]
    assert f"{says}; any value fits there" in found.left_out[-1]


OLD: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Old"},
    "host": "old.example",
    "basePath": "/v1/",
    "schemes": ["http"],
    "parameters": {"Id": {"name": "id", "in": "path", "required": True, "type": "integer"}},
    "securityDefinitions": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    "paths": {
        "/pods/{id}": {
            "parameters": [{"$ref": "#/parameters/Id"}],
            "get": {
                "operationId": "find",
                "parameters": [
                    {"name": "tags", "in": "query", "type": "array", "items": {"type": "string"}},
                    {"name": "many", "in": "query", "type": "array", "items": {}, "collectionFormat": "multi"},
                    {"name": "X-Key", "in": "header", "type": "string", "required": True},
                    {"name": "token", "in": "query", "type": "string", "required": True},
                ],
                "responses": {"200": {"schema": {"$ref": "#/definitions/Pod"}}},
            },
            "put": {
                "operationId": "change",
                "consumes": ["application/merge-patch+json"],
                "parameters": [
                    {"name": "body", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pod"}}
                ],
            },
            "post": {
                "operationId": "form",
                "parameters": [{"name": "text", "in": "formData", "type": "string", "required": True}],
            },
            "patch": {"parameters": [{"name": "file", "in": "formData", "type": "file", "required": True}]},
        }
    },
    "definitions": {"Pod": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
}


def test_a_document_of_openapi_2_is_read_too(tmp_path: Path) -> None:
    found = imported(tmp_path, OLD)
    find, change, form = found.tools
    assert found.url == "http://old.example/v1"
    assert find.parameters["properties"].keys() == {"id", "tags", "many"}
    assert find.request == {
        "method": "GET",
        "path": "/pods/{id}",
        "query": ["tags", "many"],
        "styles": {"tags": "commas"},
    }
    assert find.example == {"name": "str"}
    assert change.parameters["required"] == ["id", "name"]
    assert change.request is not None
    assert change.request["content_type"] == "application/merge-patch+json"
    assert form.request == {"method": "POST", "path": "/pods/{id}", "body": "form"}
    assert form.parameters["required"] == ["id", "text"]
    assert [line.rpartition(": ")[2] for line in found.left_out] == [
        "the parameter 'token', which is a key",
        "its body is 'multipart/form-data'",
    ]


def test_a_document_may_have_other_files_in_its_folder(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    (tmp_path / ".env").write_text("KEY: sk-0123456789", encoding="utf-8")
    (parts / "orders.yaml").write_text("get:\n  parameters: [{$ref: 'common.yaml#/id'}]\n", encoding="utf-8")
    (parts / "common.yaml").write_text("id: {name: id, in: path, schema: {$ref: '#/none'}}\n", encoding="utf-8")
    paths = {
        "/orders/{id}": {"$ref": "parts/orders.yaml"},
        **{
            f"/{n}": {"$ref": file}
            for n, file in enumerate(["../a.yaml", "/etc/passwd", ".env", "https://x.example/a.yaml"])
        },
    }
    found = imported(tmp_path, changed("paths", value=paths))
    assert [tool.parameters["required"] for tool in found.tools] == [["id"]]
    for says, line in zip(
        [
            "'../a.yaml' is outside the folder of the document",
            "'/etc/passwd' is outside the folder",
            "there is no document '.env'",
            "is in another document; bundle them into one first",
            f"{parts / 'common.yaml'}:1: id.schema.$ref: there is no '#/none'",
        ],
        found.left_out,
        strict=True,
    ):
        assert says in line


def test_a_document_whose_texts_multiply_is_cut(tmp_path: Path) -> None:
    many = {f"p{number}": {"$ref": "#/components/schemas/Long"} for number in range(3000)}
    schemas = {"Long": {"type": "string", "description": "a" * 10_000}, "Many": {"type": "object", "properties": many}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Many"}}}}
    document = changed("components", "schemas", value={**SHOP["components"]["schemas"], **schemas})
    document["paths"] = {f"/{number}": {"post": {"requestBody": body}} for number in range(20)}
    found = imported(tmp_path, document)
    assert len(found.tools) == 20
    first, *_, last = [tool.parameters["properties"] for tool in found.tools]
    assert first["p0"] == {"type": "string", "description": "a" * 2_000}
    assert last == {"body": {"type": "object"}}
    assert len(json.dumps([tool.parameters for tool in found.tools])) < 10 * 2**20
