"""Files of the tools of MCP servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from support.cases import for_each
from support.servers import listening

from trialbed.errors import DataError, TrialbedError
from trialbed.tasks import AnsweredApi
from trialbed_tools.mcp_imports import import_server, kept_import, server_fields
from trialbed_tools.worlds import open_world

KEY = "sk-0123456789abcdef"


@pytest.fixture
async def server() -> AsyncIterator[str]:
    """A server that answers those who have the key."""

    async def mcp(request: Request) -> Response:
        if request.query_params.get("api_key") != KEY:
            return Response(status_code=401)
        asked = await request.json()
        result: dict[str, Any] = {"tools": [{"name": "find"}]}
        return JSONResponse({"jsonrpc": "2.0", "id": asked.get("id"), "result": result})

    async with listening(Starlette(routes=[Route("/mcp", mcp, methods=["POST"])])) as url:
        yield f"{url}/mcp"


async def test_the_address_of_a_server_names_the_variable_of_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    monkeypatch.setenv("DESK_LOGIN", KEY)
    address = f"{server}?api_key=${{DESK_LOGIN}}"
    path = await anyio.to_thread.run_sync(kept_import, tmp_path / "desk.yaml", address, 1)
    assert address in path.read_text(encoding="utf-8")
    assert KEY not in path.read_text(encoding="utf-8")
    assert f"source: 'an MCP server: {server}" in path.read_text(encoding="utf-8")
    assert [tool.api.api_name for tool in open_world(path).tools if isinstance(tool, AnsweredApi)] == ["find"]
    monkeypatch.delenv("DESK_LOGIN")
    with pytest.raises(DataError, match=r"mcp\.url: the variable DESK_LOGIN is not set"):
        open_world(path)


@for_each(
    ("address", "environment", "says"),
    [
        (f"http://127.0.0.1:1/mcp?api_key={KEY}", (), "mcp.url.api_key: keys do not stand in files; write ${NAME}"),
        (f"http://me:{KEY}@127.0.0.1:1/mcp", (), "mcp.url.password: keys do not stand in files; write ${NAME}"),
        ("http://127.0.0.1:1/mcp", (f"API_KEY={KEY}",), "mcp.environment.API_KEY: keys do not stand in files"),
        ("http://127.0.0.1:1/${NO_SUCH_1}", (), "mcp.url: the variable NO_SUCH_1 is not set"),
        ("http://[x", (), "mcp.url: is no address"),
        ("http:x", (), "--mcp: url: string should match pattern"),
        (" ", (), "cannot be started: it names no program"),
        ("", (), "--mcp: command: string should have at least 1 character"),
    ],
)
def test_what_is_wrong_with_a_server_is_said(
    tmp_path: Path, address: str, environment: tuple[str, ...], says: str
) -> None:
    with pytest.raises(TrialbedError) as raised:
        import_server(server_fields(address, environment), tmp_path, "live")
    assert says in str(raised.value)
    assert KEY not in str(raised.value)
