"""MCP servers: imports of their tools, faulty lists, hostile answers, and bounds."""

from __future__ import annotations

import asyncio
import gzip
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
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from support.cases import for_each
from support.live_tools import SERVER
from support.servers import listening

from trialbed.errors import DataError, TrialbedError
from trialbed.tasks import AnsweredApi
from trialbed.wire.redaction import Redaction
from trialbed_tools.command import import_command
from trialbed_tools.forms import RequestForm, ServerForm
from trialbed_tools.http import HttpConnection
from trialbed_tools.imports import import_server, kept_import, server_fields
from trialbed_tools.live import ToolsUnreachable
from trialbed_tools.servers import list_server, server_connection
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
        (f"http://127.0.0.1:1/mcp?api_key={KEY}", (), "mcp.url.api_key: do not write keys into files; write ${NAME}"),
        (f"http://me:{KEY}@127.0.0.1:1/mcp", (), "mcp.url.password: do not write keys into files; write ${NAME}"),
        ("http://127.0.0.1:1/mcp", (f"API_KEY={KEY}",), "mcp.environment.API_KEY: do not write keys into files"),
        ("http://127.0.0.1:1/${NO_SUCH_1}", (), "mcp.url: the variable NO_SUCH_1 is not set"),
        ("http://[x", (), "mcp.url: is not an address"),
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
        assert "mcp.command: do not write keys into files" in str(shown.exception)
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


def listed(*tools: Any, **result: Any) -> dict[str, Any]:
    return {"tools": [*tools], **result}


def found(**fields: Any) -> dict[str, Any]:
    return {"name": "find", **fields}


FAULTS: list[tuple[Any, str]] = [
    (None, "the server sends a message that is not valid JSON, or not one of MCP"),
    ({}, "the server answers tools/list without tools"),
    (listed(), "must be a list of definitions, with at least one"),
    (listed({"name": ""}), "tools[0]: the definition has no name"),
    (listed(found(inputSchema="x")), "tools[0].inputSchema: must be a JSON Schema, and is 'x'"),
    (listed(found(inputSchema={"properties": {"a": {"type": 3}}})), "the schema of find cannot be used: 3 is not"),
    (listed(found(), nextCursor="more"), "the server lists its tools in more than"),
    ('{"jsonrpc": "2.0", "id": ', "the server sends a message that is not valid JSON"),
    ('{"jsonrpc": "2.0", "id": 2, "result": ' + "[" * 5000 + "]" * 5000 + "}", "the server sends"),
    (404, "status 404"),
]


@pytest.fixture
async def faulty() -> AsyncIterator[tuple[str, list[Any]]]:
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


async def test_a_fault_is_named_and_nothing_is_imported(faulty: tuple[str, list[Any]], tmp_path: Path) -> None:
    address, given = faulty
    for given[0], says in FAULTS:
        with pytest.raises(TrialbedError) as raised:
            await anyio.to_thread.run_sync(kept_import, tmp_path / "desk.yaml", address, 1)
        assert says in str(raised.value), given
        assert address in str(raised.value), given
        assert not files_of(tmp_path)


class Shop:
    """A server that never ends an answer, and does not go on before its own requests are answered."""

    def __init__(self) -> None:
        self.page = 1
        self.asked = 0
        self.answered = asyncio.Event()
        self.session = b"s1"

    async def drip(self, _: Request) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            while True:
                yield b" "
                await asyncio.sleep(0.01)

        return StreamingResponse(pieces())

    async def mcp(self, request: Request) -> Response:
        asked = await request.json()
        if asked.get("id") == "mine":
            self.answered.set()
        if "id" not in asked or "method" not in asked:
            return Response(status_code=202)
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"structuredContent": [1]}}
        if asked["method"] == "initialize":
            made = JSONResponse(answer)
            made.raw_headers.append((b"mcp-session-id", self.session))
            return made

        self.asked += 1
        if asked["method"] == "tools/list":
            return JSONResponse({**answer, "result": {"tools": [{"name": "a"}] * self.page, "nextCursor": "more"}})

        async def events() -> AsyncIterator[bytes]:
            while asked["params"]["name"] == "progress":
                yield b'data: {"jsonrpc": "2.0", "method": "notifications/progress"}\n\n'
                await asyncio.sleep(0.01)
            yield b'data: {"jsonrpc": "2.0", "id": "mine", "method": "ping"}\r\n\r\n'
            await self.answered.wait()
            yield b"data: " + json.dumps(answer).encode() + b"\n\n"
            await asyncio.Event().wait()

        return StreamingResponse(events(), media_type="text/event-stream")


@pytest.fixture
async def shop() -> AsyncIterator[tuple[Shop, str]]:
    made = Shop()
    routes = [Route("/drip", made.drip), Route("/mcp", made.mcp, methods=["POST", "DELETE"])]
    async with listening(Starlette(routes=routes)) as url:
        yield made, url


async def test_a_request_whose_answer_never_ends_is_late(
    shop: tuple[Shop, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trialbed_tools.http.SECONDS", 0.2)
    connection = HttpConnection(shop[1], {"a": RequestForm(path="/drip")}, {})
    with pytest.raises(ToolsUnreachable, match=r"the answer takes longer than 0\.2 s"):
        await connection.call("a", {})
    await connection.close()


@pytest.mark.parametrize(
    ("tools", "says", "last"), [(1500, "more than 2,000 tools", 2), (1, "its tools in more than 100 answers", 100)]
)
async def test_a_list_without_end_is_refused(
    shop: tuple[Shop, str], tmp_path: Path, tools: int, says: str, last: int
) -> None:
    shop[0].page = tools
    connection = server_connection(ServerForm(url=f"{shop[1]}/mcp"), tmp_path, {}, Redaction(()))
    with pytest.raises(ToolsUnreachable, match=says):
        await connection.list_tools()
    assert shop[0].asked == last
    await connection.close()


@pytest.fixture
async def hostile() -> AsyncIterator[tuple[str, list[str]]]:
    """A server that answers in the way that its path names, and the hosts that got a request."""
    hosts: list[str] = []

    async def blanks() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" " * 300_000
            await asyncio.sleep(0)

    def moved(request: Request) -> Response:
        return Response(status_code=307, headers={"location": f"http://localhost:{request.url.port}/mcp"})

    async def mcp(request: Request) -> Response:
        hosts.append(str(request.url.hostname))
        match request.path_params["way"]:
            case "moved":
                return moved(request)
            case "packed":
                packed = gzip.compress(b" " * 50_000_000)
                return Response(packed, headers={"content-encoding": "gzip"}, media_type="application/json")
            case "endless":
                return StreamingResponse(blanks(), media_type="application/json")
            case "closed":
                return Response(f"not for {request.headers['authorization']}", status_code=401)
        return Response("hello", media_type="text/plain")

    async with listening(Starlette(routes=[Route("/{way}", mcp, methods=["POST"])])) as url:
        yield url, hosts


@pytest.mark.parametrize(
    ("way", "says"),
    [
        ("moved", "Redirect to http://localhost:"),
        ("packed", "the answer is compressed"),
        ("endless", "the answer is larger than 16,777,216 bytes"),
        ("closed", "status 401: not for Bearer [redacted]"),
        ("other", "Unexpected content type: text/plain"),
    ],
)
async def test_what_a_hostile_server_does_is_one_error(
    hostile: tuple[str, list[str]], tmp_path: Path, way: str, says: str
) -> None:
    url, hosts = hostile
    key = "sk-0123456789abcdef"
    form, headers = ServerForm(url=f"{url}/{way}"), {"authorization": f"Bearer {key}"}
    with pytest.raises(ToolsUnreachable) as raised:
        await asyncio.to_thread(list_server, form, tmp_path, headers, Redaction((key,)))
    assert says in str(raised.value)
    assert set(hosts) == {"127.0.0.1"}
