"""Tools: what they send, and that no failure ever raises."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from trialbed import ApiRef, ApiRefused, Tool, ToolSpec, tls_for
from trialbed.tools import ToolClient, ValueTool, connected_tools

SPEC = ToolSpec(
    name="Weather_now",
    description="The weather",
    parameters={"type": "object", "properties": {"self": {"type": "string"}}, "required": ["self"]},
    api=ApiRef(category="Sky", tool_name="Weather", api_name="now"),
)
URL = "http://rig/t/token/virtual"


class Server(ToolClient):
    """Answers with what it is told to and keeps the last request."""

    def __init__(self, reply: Any = None, status: int = 200, text: str | None = None) -> None:
        super().__init__()
        self.sent: dict[str, Any] = {}
        self._reply = status, (json.dumps(reply) if text is None else text).encode()

    async def post(self, url: str, body: bytes) -> tuple[int, bytes]:
        assert url == URL
        self.sent = json.loads(body)
        return self._reply


async def call(server: Server, arguments: dict[str, Any]) -> str:
    (tool,) = connected_tools([SPEC], URL, server)
    return await tool.ainvoke(arguments)


async def test_the_six_fields_are_sent_in_the_datasets_spelling() -> None:
    server = Server({"error": "", "response": "ok"})
    await call(server, {"self": "x", "n": 1})
    assert server.sent == {
        "category": "Sky",
        "tool_name": "Weather",
        "api_name": "now",
        "tool_input": {"self": "x", "n": 1},
        "strip": "",
        "toolbench_key": "EMPTY",
    }


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"error": "", "response": "fine"}, "fine"),
        ({"error": "", "response": {"t": 21}}, '{"t": 21}'),
        ({"error": "", "response": "Ärger"}, "Ärger"),
        ({"error": "no city", "response": ""}, "Error: no city"),
        ({"error": "partial", "response": {"t": 21}}, 'Error: partial\n{"t": 21}'),
        ([1, 2], "[1, 2]"),
        ({}, ""),
    ],
)
async def test_the_response_is_text(body: Any, text: str) -> None:
    assert await call(Server(body), {}) == text


async def test_a_server_that_is_away_is_text() -> None:
    tool = Tool(SPEC, "http://127.0.0.1:1/virtual")
    assert (await tool.ainvoke({})).startswith("Error: the call could not be made: ClientConnectorError: ")


async def test_arguments_that_are_no_json_are_text() -> None:
    assert (await call(Server({}), {"x": {1, 2}})).startswith("Error: the call could not be made: TypeError")


@pytest.mark.parametrize("value", [{"t": 21}, 21, [1, "a"], "fine", None, {}])
async def test_a_program_gets_values_and_its_model_the_text(value: Any) -> None:
    tool = ValueTool(SPEC, URL)
    tool._client = Server({"error": "", "response": value})
    assert await tool.ainvoke({}) == await tool(self="x") == value
    assert await tool.atext({}) == (value if isinstance(value, str) else json.dumps(value))


async def test_a_program_gets_the_error_that_the_tool_raised() -> None:
    tool = ValueTool(SPEC, URL)
    tool._client = Server({"error": "no city", "response": ""})
    with pytest.raises(ApiRefused, match="no city"):
        await tool.ainvoke({})
    assert await tool.atext({}) == "Error: no city"
    with pytest.raises(ApiRefused, match="the call could not be made"):
        ValueTool(SPEC, "http://127.0.0.1:1/virtual").invoke({})


def test_certificates_are_verified_where_there_are_any() -> None:
    assert tls_for("https://server/virtual") is True
    plain = tls_for("http://server/virtual")
    assert isinstance(plain, ssl.SSLContext)
    assert plain.verify_mode == ssl.CERT_REQUIRED
    assert plain.get_ca_certs() == []


@contextmanager
def listening(connections: list[Any]) -> Iterator[str]:
    """The URL of a server that answers each call, and keeps the address of whoever connects."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            connections.append(self.client_address)
            super().setup()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            body = b'{"error": "", "response": "ok"}'
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/virtual"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_calls_of_one_process_share_connections() -> None:
    connections: list[Any] = []
    with listening(connections) as url:
        async with aclosing(ToolClient()) as client:
            tools = connected_tools([SPEC, SPEC], url, client)
            assert [await tool.ainvoke({}) for tool in tools * 3] == ["ok"] * 6
            assert len(connections) == 1
            assert [tool.invoke({}) for tool in tools * 3] == ["ok"] * 6
            assert tools[0].func(city="Oslo") == tools[0].run({"city": "Oslo"}) == "ok"
            assert len(connections) == 2
            with ThreadPoolExecutor(4) as threads:
                assert list(threads.map(tools[0].invoke, [{}] * 20)) == ["ok"] * 20
            assert len(connections) <= 6
            # Another loop cannot share them.
            assert await asyncio.to_thread(asyncio.run, tools[0].ainvoke({})) == "ok"
