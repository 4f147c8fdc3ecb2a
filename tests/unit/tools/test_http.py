"""Live tools over HTTP: requests of calls, and MCP servers at URLs."""

from __future__ import annotations

import gzip
import json
import traceback
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from support.cases import for_each
from support.live_tools import KEY, LIST, Trial, written
from support.servers import listening

from trialbed.contracts import ApiRefused
from trialbed.errors import DataError, UsageError
from trialbed.tasks import AnsweredApi
from trialbed.wire.redaction import Redaction
from trialbed_tools.documents import find_tools
from trialbed_tools.forms import RequestForm, ServerForm
from trialbed_tools.http import request_parts
from trialbed_tools.imports import write_tools
from trialbed_tools.live import ToolsUnreachable
from trialbed_tools.servers import server_connection
from trialbed_tools.worlds import open_world


@pytest.fixture
async def shop() -> AsyncIterator[str]:
    """An API, and an MCP server, over HTTP."""

    async def api(request: Request) -> Response:
        status = int(request.query_params.get("status", 200))
        if status != 200:
            return PlainTextResponse(f"no: {request.headers.get('x-key')}", status)
        seen = {"path": request.url.path, "query": request.url.query, "key": request.headers.get("x-key")}
        return JSONResponse(seen)

    async def mcp(request: Request) -> Response:
        asked = await request.json()
        if "id" not in asked:
            return Response(status_code=202)
        if asked["method"] == "initialize":
            result: Any = {"protocolVersion": "2025-03-26"}
            return JSONResponse(
                {"jsonrpc": "2.0", "id": asked["id"], "result": result}, headers={"mcp-session-id": "s1"}
            )
        headers = [request.headers.get(name) for name in ("mcp-session-id", "mcp-protocol-version")]
        result = {"structuredContent": headers}
        events = [
            {"jsonrpc": "2.0", "method": "notifications/message"},
            {"jsonrpc": "2.0", "id": asked["id"], "result": result},
        ]
        body = "".join(f"event: message\r\ndata: {json.dumps(event)}\r\n\r\n" for event in events)
        return Response(body, media_type="text/event-stream")

    routes = [Route("/v1/{rest:path}", api), Route("/mcp", mcp, methods=["POST", "DELETE"])]
    async with listening(Starlette(routes=routes)) as url:
        yield url


def http_file(folder: Path, url: str, answers: str = "live", **fields: Any) -> Path:
    path = folder / "shop.yaml"
    request = {"path": "/orders/{id}", "query": ["status", "fields"]}
    tools = [
        {"function": {"name": "find"}, "request": request},
        {"function": {"name": "refund"}, "request": {"path": "/refunds", "method": "POST", "body": "json"}},
    ]
    headers = {"X-Key": "Bearer ${SHOP_KEY}"}
    write_tools({"answers": answers, "url": f"{url}/v1", "headers": headers, "tools": tools, **fields}, path)
    return path


async def test_calls_of_an_api_pass_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shop: str) -> None:
    monkeypatch.setenv("SHOP_KEY", KEY)
    trial = Trial(http_file(tmp_path, shop))
    # What changes something is not done for real unless the file says so.
    assert set(trial.bodies) == {"find"}
    found = await trial.call("find", id="a/b", fields=["x", "y"])
    assert (found["path"], found["query"]) == ("/v1/orders/a/b", "fields=x&fields=y")
    assert found["key"].startswith("Bearer ")
    assert KEY not in json.dumps(found)
    for status in (404, 422):
        with pytest.raises(ApiRefused, match=rf"status {status}: no: Bearer"):
            await trial.call("find", id=7, status=status)
    for status in (302, 401, 429, 500):
        with pytest.raises(ToolsUnreachable, match=f"status {status}"):
            await trial.call("find", id=7, status=status)
    await trial.end_run()
    kept = (tmp_path / "shop.answers.jsonl").read_text(encoding="utf-8")
    assert len(kept.splitlines()) == 3
    assert KEY not in kept
    monkeypatch.delenv("SHOP_KEY")
    trial = Trial(http_file(tmp_path, "http://127.0.0.1:1", "recorded"))
    assert await trial.call("find", id="a/b", fields=["x", "y"]) == found


async def test_failures_of_live_tools_are_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shop: str) -> None:
    # Nothing but the file says that this is a key, and it ends as a file's content does.
    monkeypatch.setenv("SHOP_LOGIN", f"{KEY}\n")
    headers = {"X-Key": "Bearer ${SHOP_LOGIN}"}
    trial = Trial(http_file(tmp_path, shop, headers=headers))
    with pytest.raises(ToolsUnreachable) as raised:
        await trial.call("find", id=7, status=500)
    assert "status 500: no: Bearer " in str(raised.value)
    assert KEY not in "".join(traceback.format_exception(raised.value))
    await trial.end_run()
    monkeypatch.setenv("SHOP_LOGIN", f"{KEY}\nmore")
    with pytest.raises(DataError, match=r"headers\.X-Key: a header is one line in ASCII"):
        open_world(http_file(tmp_path, shop, headers=headers))


async def test_a_server_at_a_url_answers_in_documents_and_in_events(tmp_path: Path, shop: str) -> None:
    trial = Trial(written(tmp_path, command=None, url=f"{shop}/mcp"))
    assert await trial.call(LIST) == ["s1", "2025-03-26"]
    await trial.end()


REQUESTS: list[tuple[dict[str, Any], dict[str, Any], Any]] = [
    ({"path": "/a/{id}"}, {"id": 7}, {"url": "/a/7"}),
    ({"path": "/a/{id}"}, {"id": "../x?y"}, {"url": "/a/..%2Fx%3Fy"}),
    ({"path": "/a/{id}"}, {"id": ".."}, "id: must not be empty"),
    ({"path": "/a/{id}"}, {}, "id: must not be empty"),
    ({"path": "http://other/a"}, {}, {"url": "http://other/a"}),
    (
        {"path": "/", "query": ["a", "b", "c"], "styles": {"b": "commas"}},
        {"a": {"x": 1}, "b": [1, 2], "c": True},
        {"params": [("x", "1"), ("b", "1,2"), ("c", "true")]},
    ),
    ({"path": "/", "headers": ["X-A"]}, {"X-A": "b"}, {"headers": {"X-A": "b"}}),
    ({"path": "/", "headers": ["X-A"]}, {"X-A": "b\r\nc: d"}, "a header is one line in ASCII"),
    ({"path": "/{a}", "body": "json"}, {"a": 1, "b": None}, {"json": {"b": None}}),
    ({"path": "/", "body": "json", "whole_body": "b"}, {"b": [1]}, {"json": [1]}),
    ({"path": "/", "body": "json", "whole_body": "b"}, {}, {}),
    ({"path": "/", "body": "form"}, {"a": 1, "b": ["c", "d"]}, {"data": {"a": ["1"], "b": ["c", "d"]}}),
]


@for_each(("form", "arguments", "parts"), REQUESTS)
def test_a_call_is_a_request(form: dict[str, Any], arguments: dict[str, Any], parts: Any) -> None:
    found = request_parts(RequestForm.model_validate(form), arguments, "")
    expected = parts if isinstance(parts, str) else {"method": "GET", "url": "/", "headers": {}, **parts}
    if isinstance(parts, dict) and "url" not in parts:
        expected["url"] = form["path"].replace("{a}", "1")
    assert found == expected


SECRET = "sk-0123456789abcdef"


def tool_file(folder: Path, *tools: dict[str, Any], **fields: Any) -> Path:
    """A file of tools."""
    path = folder / "shop.yaml"
    write_tools({"answers": "live", **fields, "tools": list(tools)}, path)
    return path


def tool(name: str, path: str, **request: Any) -> dict[str, Any]:
    return {"function": {"name": name}, "request": {"path": path, **request}}


async def called(path: Path, name: str, /, **arguments: Any) -> Any:
    """The answer to one call in a trial of its own."""

    async def here(begin: Any) -> Any:
        return await begin()

    bodies = {tool.api.api_name: tool.body for tool in open_world(path).tools if isinstance(tool, AnsweredApi)}
    owner = bodies[name].make_owner(None)
    try:
        return await bodies[name].call(arguments, owner, here)
    finally:
        await bodies[name].end_trial(owner)
        await bodies[name].end_run()


@pytest.fixture
async def echo() -> AsyncIterator[str]:
    """An API that says what it was asked."""

    async def api(request: Request) -> Response:
        if request.url.path == "/packed":
            return Response(gzip.compress(b"a" * 2**23), headers={"content-encoding": "gzip"})
        if request.url.path == "/large":
            return Response(b"a" * (2**22 + 1))
        seen = {"keys": len(request.headers.getlist("x-key")), "encoding": request.headers.get("accept-encoding")}
        return JSONResponse({"path": request.url.path, **seen})

    async with listening(Starlette(routes=[Route("/{rest:path}", api, methods=["GET", "POST"])])) as url:
        yield url


async def test_headers_go_to_the_host_of_the_file_and_to_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, echo: str
) -> None:
    monkeypatch.setenv("SHOP_KEY", SECRET)
    headers = {"X-Key": "${SHOP_KEY}"}
    other = echo.replace("127.0.0.1", "localhost")
    tools = [tool("near", "/a"), tool("whole", f"{echo}/b"), tool("far", f"{other}/c")]
    path = tool_file(tmp_path, *tools, url=echo, headers=headers)
    assert [(await called(path, name))["keys"] for name in ("near", "whole", "far")] == [1, 1, 0]
    # Without a url, the host is that of all requests.
    path = tool_file(tmp_path, tools[1], headers=headers)
    (tmp_path / "shop.answers.jsonl").unlink()
    assert (await called(path, "whole"))["keys"] == 1
    with pytest.raises(
        DataError, match=r"answers: headers may hold keys and go to one host only, but requests go to several"
    ):
        open_world(tool_file(tmp_path, *tools[1:], headers=headers))


async def test_a_path_that_changes_the_host_gets_no_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, echo: str
) -> None:
    monkeypatch.setenv("SHOP_KEY", SECRET)
    tools = tool("far", f"@{echo.partition('//')[2]}/c")
    path = tool_file(tmp_path, tools, url="http://nowhere.example", headers={"X-Key": "${SHOP_KEY}"})
    assert (await called(path, "far"))["keys"] == 0


async def test_an_answer_that_is_compressed_or_large_is_not_read(tmp_path: Path, echo: str) -> None:
    path = tool_file(tmp_path, tool("find", "/find"), tool("packed", "/packed"), tool("large", "/large"), url=echo)
    assert (await called(path, "find"))["encoding"] == "identity"
    with pytest.raises(ToolsUnreachable, match=r"the answer is compressed \('gzip'\), which was not asked for"):
        await called(path, "packed")
    with pytest.raises(ApiRefused, match="the answer is larger than 4,194,304 bytes"):
        await called(path, "large")
    server = server_connection(ServerForm(url=f"{echo}/packed"), tmp_path, {}, Redaction(()))
    with pytest.raises(ToolsUnreachable, match="the answer is compressed"):
        await server.list_tools()
    await server.close()
    with pytest.raises(UsageError, match="/packed: the answer is compressed"):
        await anyio.to_thread.run_sync(find_tools, f"{echo}/packed")


OBJECT = {"R": 1, "G": [2]}
STYLES: list[tuple[dict[str, Any], Any, dict[str, Any]]] = [
    ({"path": "/", "query": ["a"]}, OBJECT, {"params": [("R", "1"), ("G", "[2]")]}),
    ({"path": "/", "query": ["a"], "styles": {"a": "commas"}}, OBJECT, {"params": [("a", "R,1,G,[2]")]}),
    ({"path": "/", "query": ["a"], "styles": {"a": "deep"}}, OBJECT, {"params": [("a[R]", "1"), ("a[G]", "[2]")]}),
    ({"path": "/", "query": ["a"], "styles": {"a": "json"}}, OBJECT, {"params": [("a", '{"R": 1, "G": [2]}')]}),
    ({"path": "/{a}"}, [1, "b,/"], {"url": "/1,b%2C%2F"}),
    ({"path": "/{a}"}, OBJECT, {"url": "/R,1,G,%5B2%5D"}),
    ({"path": "/{a}", "styles": {"a": "pairs"}}, {"R": 1, "b,": "x/=y"}, {"url": "/R=1,b%2C=x%2F%3Dy"}),
    ({"path": "/{a}", "styles": {"a": "pairs"}}, [1, 2], {"url": "/1,2"}),
    ({"path": "/", "headers": ["a"], "styles": {"a": "pairs"}}, OBJECT, {"headers": {"a": "R=1,G=[2]"}}),
    ({"path": "/", "headers": ["a"]}, [1, 2], {"headers": {"a": "1,2"}}),
    ({"path": "/", "body": "form"}, OBJECT, {"data": {"a[R]": ["1"], "a[G]": ["[2]"]}}),
]


@for_each(("form", "value", "parts"), STYLES)
def test_lists_and_objects_are_written_as_openapi_has_them(
    form: dict[str, Any], value: Any, parts: dict[str, Any]
) -> None:
    found = request_parts(RequestForm.model_validate(form), {"a": value}, "")
    assert found == {"method": "GET", "url": "/", "headers": {}, **parts}
