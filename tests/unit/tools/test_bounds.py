"""Bounds of foreign servers: their time, their messages, and their lists of tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from support.servers import listening

from trialbed.wire.redaction import Redaction
from trialbed_tools._rpc import McpConnection
from trialbed_tools.forms import RequestForm, ServerForm
from trialbed_tools.http import HttpConnection
from trialbed_tools.imports import write_tools
from trialbed_tools.live import CallAnswer, ToolsUnreachable
from trialbed_tools.servers import server_connection


class Channel:
    """A server that answers with messages made of the request."""

    def __init__(self, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self.answer = answer
        self.asked: dict[str, Any] = {}
        self.closed = False

    async def send(self, message: dict[str, Any]) -> None:
        self.asked = message

    async def receive(self) -> dict[str, Any]:
        await asyncio.sleep(0)
        result = {"id": self.asked["id"], "result": {}}
        return result if self.asked["method"] == "initialize" else self.answer(self.asked)

    async def close(self) -> None:
        self.closed = True


async def opened(channel: Channel) -> Channel:
    return channel


def progress(_: dict[str, Any]) -> dict[str, Any]:
    return {"method": "notifications/progress"}


async def test_a_server_that_only_speaks_of_its_progress_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed_tools._rpc.MOST_SECONDS", 0.05)
    monkeypatch.setattr("trialbed_tools._rpc.MOST_MESSAGES", 10**9)
    channel = Channel(progress)
    with pytest.raises(ToolsUnreachable, match=r"the server gives no answer within 0\.05 s"):
        await McpConnection(partial(opened, channel)).call("a", {})
    assert channel.closed


def page(asked: dict[str, Any], tools: int, cursor: str) -> dict[str, Any]:
    return {"id": asked["id"], "result": {"tools": [{"name": "a"}] * tools, "nextCursor": cursor}}


@pytest.mark.parametrize(
    ("tools", "says", "last"), [(1500, "more than 2,000 tools", 3), (1, "its tools in more than 100 answers", 101)]
)
async def test_a_list_without_end_is_refused(tools: int, says: str, last: int) -> None:
    channel = Channel(lambda asked: page(asked, tools, "more"))
    with pytest.raises(ToolsUnreachable, match=says):
        await McpConnection(partial(opened, channel)).list_tools()
    assert channel.asked["id"] == last


class Shop:
    """A server that never ends an answer, and does not go on before its own requests are answered."""

    def __init__(self) -> None:
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

        async def events() -> AsyncIterator[bytes]:
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
