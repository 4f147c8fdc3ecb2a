"""Tools of Postman collections."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from support.cases import for_each
from unit.tools.documents import check_refused, imported, with_part

SHOP: dict[str, Any] = {
    "info": {"name": "Shop", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
    "variable": [
        {"key": "base", "value": "https://me:secret@shop.example/v1"},
        {"key": "part_key", "value": "secret"},
    ],
    "item": [
        {
            "name": "Orders",
            "item": [
                {
                    "name": "Find an order",
                    "request": {
                        "method": "GET",
                        "description": {"content": "With its lines."},
                        "header": [
                            {"key": "X-Shop", "value": "a"},
                            {"key": "Größe", "value": "a"},
                            {"key": "Authorization", "value": "Bearer secret"},
                        ],
                        "url": {
                            "raw": "{{base}}/orders:find/:id/({{part_key}})?fields=item&api_key=secret",
                            "query": [
                                {"key": "fields", "value": "item", "description": "Which."},
                                {"key": "api_key", "value": "secret"},
                                {"key": "old", "value": "1", "disabled": True},
                            ],
                        },
                    },
                    "response": [
                        {"code": 404, "body": "{}"},
                        {"code": 200, "body": '{"item": "lamp", "prices": [1.5]}'},
                    ],
                }
            ],
        },
        {
            "name": "Refund",
            "request": {
                "method": "POST",
                "url": "{{base}}/refunds",
                "body": {"mode": "raw", "raw": '{"order": 7, "lines": [{"id": "a"}], "note": null}'},
            },
        },
        {
            "name": "Pay",
            "request": {
                "method": "POST",
                "url": "{{base}}/pay",
                "body": {"mode": "urlencoded", "urlencoded": [{"key": "amount", "value": "3"}]},
            },
        },
        {"name": "Upload", "request": {"method": "POST", "url": "{{base}}/files", "body": {"mode": "formdata"}}},
        {"name": "Elsewhere", "request": "{{other}}/orders"},
        {"name": "Nowhere", "request": "http://[x"},
    ],
}


def test_a_request_is_a_tool(tmp_path: Path) -> None:
    found = imported(tmp_path, SHOP)
    find, refund, pay = found.tools
    assert (found.title, find.name, find.description) == ("Shop", "Find an order", "With its lines.")
    text = {"type": "string"}
    assert find.parameters == {
        "type": "object",
        "properties": {"id": text, "part_key": text, "fields": {**text, "description": "Which."}, "X-Shop": text},
        "required": ["id", "part_key"],
    }
    assert find.request == {
        "method": "GET",
        "path": "https://shop.example/v1/orders:find/{id}/({part_key})",
        "query": ["fields"],
        "headers": ["X-Shop"],
    }
    assert find.example == {"item": "str", "prices": ["float", "float"]}
    lines = {"type": "array", "items": {"type": "object", "properties": {"id": text}}}
    assert refund.parameters["properties"] == {"order": {"type": "number"}, "lines": lines, "note": {}}
    assert refund.request == {"method": "POST", "path": "https://shop.example/v1/refunds", "body": "json"}
    assert (pay.parameters["properties"], pay.request) == (
        {"amount": text},
        {"method": "POST", "path": "https://shop.example/v1/pay", "body": "form"},
    )
    assert found.left_out == (
        "Upload: its body is 'formdata'",
        "Elsewhere: its address is '{{other}}/orders', in which a variable has no value",
        "Nowhere: its address is 'http://[x', which is none",
    )
    assert "secret" not in str(found)


changed = partial(with_part, SHOP)


def nested(levels: int) -> dict[str, Any]:
    item: dict[str, Any] = {"name": "a", "request": "https://shop.example"}
    for _ in range(levels):
        item = {"name": "folder", "item": [item]}
    return item


FIND = ("item", 0, "item", 0)
FAULTS = [
    (changed("info", value=3), "info: must be an object, and is 3"),
    (changed("info", value={}), "info.schema: is not a collection of version 2.1"),
    (changed("info", "schema", value="https://…/v1.0.0/"), "info.schema: is not a collection of version 2.1"),
    (changed("variable", value=5), "variable: must be a list, and is 5"),
    (changed(*FIND, "request", "url", "query", value=5), "request.url.query: must be a list, and is 5"),
    (changed("item", 2, "request", "body", "urlencoded", value=5), "urlencoded: must be a list, and is 5"),
    (changed("item", value={}), "item: must be a list, and is {}"),
    (changed("item", value=[]), "item: no request that can be a tool"),
    (changed("item", value=SHOP["item"][3:]), "item: no request that can be a tool: Upload: its body is 'formdata'"),
    (changed("item", 0, value=7), "item[0]: must be an object, and is 7"),
    (changed("item", 0, "item", value=None), "item[0].item: must be a list, and is None"),
    (changed("item", value=[nested(30)]), "more folders or requests than can be read"),
    (changed("item", value=[SHOP["item"][1]] * 5001), "item: more folders or requests than can be read"),
    (changed(*FIND, "request", value=None), "item[0].item[0].request: must be an object, and is None"),
    (changed(*FIND, "request", value=[]), "item[0].item[0].request: must be an object, and is []"),
    (changed(*FIND, "name", value=""), "item[0].item[0]: the request has no name"),
    (changed(*FIND, "name", value=3), "item[0].item[0]: the request has no name"),
    (changed(*FIND, "request", "method", value="GET IT"), "item[0].item[0].request.method: 'GET IT' is no method"),
    (changed(*FIND, "request", "url", value={}), "item[0].item[0].request.url: the request has no address"),
    (changed(*FIND, "request", "url", "raw", value="x" * 3000), "request.url: the request has no address"),
    (changed(*FIND, "request", "url", "query", 0, value="x"), "request.url.query[0]: must be an object, and is 'x'"),
    (changed(*FIND, "request", "url", "query", 0, value={}), "request.url.query[0]: the entry has no key"),
    (changed("item", 2, "request", "body", "urlencoded", value=[{"key": 3}]), "urlencoded[0]: the entry has no key"),
]


@for_each(("document", "says"), FAULTS)
def test_a_fault_is_named_with_file_and_key(tmp_path: Path, document: Any, says: str) -> None:
    check_refused(tmp_path, document, says)
