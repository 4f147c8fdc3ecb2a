"""Files of the tools of MCP servers."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from support.cases import for_each
from support.live_tools import SERVER
from support.servers import listening

from trialbed.errors import DataError, TrialbedError, UsageError
from trialbed.tasks import AnsweredApi
from trialbed_tools.command import import_command
from trialbed_tools.imports import import_server, kept_import, server_fields
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


@pytest.mark.parametrize("found", ["1.30.0", "2.2.0"])
def test_an_sdk_without_bounds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: str) -> None:
    monkeypatch.setattr("trialbed_tools.servers.version", lambda _: found)
    with pytest.raises(UsageError, match=rf"need mcp 2\.3 or later, and this environment has {found}"):
        import_server(server_fields("true"), tmp_path, "live")


@for_each(
    ("address", "environment", "says"),
    [
        (f"http://127.0.0.1:1/mcp?api_key={KEY}", (), "mcp.url.api_key: keys do not stand in files; write ${NAME}"),
        (f"http://me:{KEY}@127.0.0.1:1/mcp", (), "mcp.url.password: keys do not stand in files; write ${NAME}"),
        ("http://127.0.0.1:1/mcp", (f"API_KEY={KEY}",), "mcp.environment.API_KEY: keys do not stand in files"),
        ("http://127.0.0.1:1/${NO_SUCH_1}", (), "mcp.url: the variable NO_SUCH_1 is not set"),
        ("http://[x", (), "mcp.url: is no address"),
        ("http://127.0.0.1:1/mcp", (), "All connection attempts failed; is the server running at this address?"),
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


@for_each(
    "command",
    [
        f"server --api-key {KEY}",
        f"server --token='{KEY}'",
        f"npx -y mcp-remote https://shop.example --header 'Authorization: Bearer {KEY}'",
        f"npx -y mcp-remote 'https://shop.example?api_key={KEY}'",
        f"env SHOP_TOKEN={KEY} server",
        "server shop-0123456789",
    ],
)
def test_no_key_of_a_command_is_written(tmp_path: Path, command: str) -> None:
    (tmp_path / "tasks.yaml").write_text("tasks: []", encoding="utf-8")
    target = tmp_path / "shop.yaml"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP_API_KEY", "shop-0123456789")
        shown = CliRunner().invoke(import_command, ["--mcp", command, "-o", str(target)])
        assert isinstance(shown.exception, DataError)
        assert "mcp.command: keys do not stand in files" in str(shown.exception)
        with pytest.raises(DataError, match=r"set a variable, name it \(--environment NAME\)") as raised:
            kept_import(tmp_path / "tasks.yaml", command, 1)
    said = f"{shown.output} {shown.exception} {raised.value}"
    assert KEY not in said
    assert "0123456789" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["tasks.yaml"]


@for_each(
    "command",
    [
        "npx -y @x/token-server ./folder",
        "server --max-tokens 1000000000",
        "server --ssh-key /home/somebody/.ssh/id_rsa",
        "server --sort-key name",
        "sh -c 'server --api-key \"$SHOP_KEY\"'",
        "sh -c 'server --header \"Authorization: Bearer ${SHOP_KEY}\"'",
    ],
)
def test_commands_that_have_no_key_are_taken(command: str) -> None:
    assert server_fields(command) == {"command": command}


def test_a_shell_puts_the_key_into_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", KEY)
    command = f"sh -c 'echo \"$SHOP_KEY\" > said; exec {sys.executable} -I {SERVER}'"
    content, _ = import_server(server_fields(command, ["SHOP_KEY"]), tmp_path, "live")
    assert (tmp_path / "said").read_text(encoding="utf-8").strip() == KEY
    assert KEY not in json.dumps(content)
    assert content["mcp"]["environment"] == {"SHOP_KEY": "${SHOP_KEY}"}
