"""Live tools over HTTP: the requests that calls are, and MCP servers at URLs."""

from __future__ import annotations

import json
import traceback
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from support.cases import for_each
from support.live_tools import KEY, LIST, Trial, written
from support.servers import listening

from trialbed.contracts import ApiRefused
from trialbed.errors import DataError
from trialbed_tools.forms import RequestForm
from trialbed_tools.http import request_parts
from trialbed_tools.imports import write_tools
from trialbed_tools.live import ToolsUnreachable
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
