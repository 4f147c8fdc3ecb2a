"""MCP servers that list their tools wrongly, twenty and more: what is wrong is named, and nothing is imported."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from support.servers import listening

from trialbed.errors import TrialbedError
from trialbed.tasks import AnsweredApi
from trialbed_tools.imports import kept_import
from trialbed_tools.worlds import open_world


def listed(*tools: Any, **result: Any) -> dict[str, Any]:
    return {"tools": [*tools], **result}


def found(**fields: Any) -> dict[str, Any]:
    return {"name": "find", **fields}


FAULTS: list[tuple[Any, str]] = [
    (None, "the server sends a message that is not valid JSON, or not one of MCP"),
    ([], "the server sends a message that is not valid JSON, or not one of MCP"),
    ({}, "the server answers tools/list without tools"),
    ({"tools": {}}, "the server answers tools/list without tools"),
    ({"tools": "find"}, "the server answers tools/list without tools"),
    (listed(), "must be a list of definitions, with at least one"),
    (listed(3), "tools[0]: must be an object, and is 3"),
    (listed({}), "tools[0]: the definition has no name"),
    (listed({"name": ""}), "tools[0]: the definition has no name"),
    (listed({"name": {"a": 1}}), "tools[0]: the definition has no name"),
    (listed(found(inputSchema=[])), "tools[0].inputSchema: must be a JSON Schema, and is []"),
    (listed(found(inputSchema="x")), "tools[0].inputSchema: must be a JSON Schema, and is 'x'"),
    (
        listed(found(inputSchema={"type": "array"})),
        "tools[0].inputSchema.type: arguments are an object, and not 'array'",
    ),
    (listed(found(inputSchema={"type": "objekt"})), "tools[0].inputSchema"),
    (listed(found(inputSchema={"properties": {"a": {"type": 3}}})), "the schema of find cannot be used: 3 is not"),
    (
        listed(found(inputSchema={"properties": {"a": {"$ref": "#/$defs/none"}}})),
        "the schema of find cannot be used: Pointer",
    ),
    (listed({"$ref": "#/1"}), "tools[0].$ref"),
    (listed(found(), nextCursor="more"), "the server lists its tools in more than"),
    ('{"jsonrpc": "2.0", "id": ', "the server sends a message that is not valid JSON"),
    ('{"jsonrpc": "2.0", "id": 2, "result": {"tools": [NaN]}}', "tools[0]: must be an object, and is nan"),
    ('{"jsonrpc": "2.0", "id": 2, "result": ' + "[" * 5000 + "]" * 5000 + "}", "the server sends"),
    ("tools", "the server sends a message that is not valid JSON"),
    (404, "status 404"),
]


@pytest.fixture
async def server() -> AsyncIterator[tuple[str, list[Any]]]:
    """The address of a server, and a list whose only element is its list of tools."""
    given: list[Any] = [None]

    async def mcp(request: Request) -> Response:
        asked = await request.json()
        result: Any = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}}
        if asked["method"] == "tools/list":
            result = given[0]
        if isinstance(result, int):
            return Response(status_code=result)
        whole = {"jsonrpc": "2.0", "id": asked.get("id"), "result": result}
        text = result if isinstance(result, str) else json.dumps(whole)
        return Response(text, media_type="application/json")

    async with listening(Starlette(routes=[Route("/mcp", mcp, methods=["POST"])])) as url:
        yield f"{url}/mcp", given


def files_of(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_a_fault_is_named_and_nothing_is_imported(server: tuple[str, list[Any]], tmp_path: Path) -> None:
    address, given = server
    assert len(FAULTS) >= 20
    for given[0], says in FAULTS:
        with pytest.raises(TrialbedError) as raised:
            await anyio.to_thread.run_sync(kept_import, tmp_path / "desk.yaml", address, 1)
        assert says in str(raised.value), given
        assert address in str(raised.value), given
        assert not files_of(tmp_path)


async def test_a_tool_with_a_fault_costs_only_itself(
    server: tuple[str, list[Any]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address, given = server
    bad = {"properties": {"a": {"minimum": 0, "exclusiveMinimum": True}}}
    given[0] = listed(found(), None, {"name": "look", "inputSchema": bad})
    path = await anyio.to_thread.run_sync(kept_import, tmp_path / "desk.yaml", address, 1)
    assert [tool.api.api_name for tool in open_world(path).tools if isinstance(tool, AnsweredApi)] == ["find"]
    assert "tools[1]: must be an object, and is None; the schema of look cannot be used: true" in caplog.text
