"""Bounds of foreign servers: their time, their messages, and their lists of tools."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from support.servers import listening

from trialbed.wire.redaction import Redaction
from trialbed_tools.forms import RequestForm, ServerForm
from trialbed_tools.http import HttpConnection
from trialbed_tools.imports import write_tools
from trialbed_tools.live import CallAnswer, ToolsUnreachable
from trialbed_tools.servers import list_server, server_connection


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


async def test_a_server_that_only_speaks_of_its_progress_is_late(
    shop: tuple[Shop, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trialbed_tools.servers.SECONDS", 2)
    connection = server_connection(ServerForm(url=f"{shop[1]}/mcp"), tmp_path, {}, Redaction(()))
    with pytest.raises(ToolsUnreachable, match="the server gives no answer within 2 s"):
        await connection.call("progress", {})


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


async def test_events_are_read_up_to_the_answer(shop: tuple[Shop, str], tmp_path: Path) -> None:
    connection = server_connection(ServerForm(url=f"{shop[1]}/mcp"), tmp_path, {}, Redaction(()))
    for _ in range(2):
        assert await connection.call("a", {}) == CallAnswer([1])
    await connection.close()


async def test_a_session_whose_id_is_no_header_is_refused(shop: tuple[Shop, str], tmp_path: Path) -> None:
    shop[0].session = "é".encode()
    connection = server_connection(ServerForm(url=f"{shop[1]}/mcp"), tmp_path, {}, Redaction(()))
    with pytest.raises(ToolsUnreachable, match="the id of the server's session is not in ASCII"):
        await connection.call("a", {})
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


def test_a_file_of_tools_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text("before", encoding="utf-8")
    seen = []

    def sync(_: int) -> None:
        seen.append(path.read_text(encoding="utf-8"))

    monkeypatch.setattr("os.fsync", sync)
    write_tools({"tools": [{"function": {"name": "a"}}]}, path)
    assert seen[0] == "before"
    assert "name: a" in path.read_text(encoding="utf-8")
