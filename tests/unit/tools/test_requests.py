"""Live tools that are HTTP requests."""

from __future__ import annotations

import gzip
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

KEY = "sk-0123456789abcdef"


def written(folder: Path, *tools: dict[str, Any], **fields: Any) -> Path:
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
async def shop() -> AsyncIterator[str]:
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shop: str
) -> None:
    monkeypatch.setenv("SHOP_KEY", KEY)
    headers = {"X-Key": "${SHOP_KEY}"}
    other = shop.replace("127.0.0.1", "localhost")
    tools = [tool("near", "/a"), tool("whole", f"{shop}/b"), tool("far", f"{other}/c")]
    path = written(tmp_path, *tools, url=shop, headers=headers)
    assert [(await called(path, name))["keys"] for name in ("near", "whole", "far")] == [1, 1, 0]
    # Without a url, the host is that of all requests.
    path = written(tmp_path, tools[1], headers=headers)
    (tmp_path / "shop.answers.jsonl").unlink()
    assert (await called(path, "whole"))["keys"] == 1
    with pytest.raises(
        DataError, match=r"answers: headers, which may be keys, go to one host, and requests to several"
    ):
        open_world(written(tmp_path, *tools[1:], headers=headers))


async def test_a_path_that_changes_the_host_gets_no_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shop: str
) -> None:
    monkeypatch.setenv("SHOP_KEY", KEY)
    tools = tool("far", f"@{shop.partition('//')[2]}/c")
    path = written(tmp_path, tools, url="http://nowhere.example", headers={"X-Key": "${SHOP_KEY}"})
    assert (await called(path, "far"))["keys"] == 0


async def test_an_answer_that_is_compressed_or_large_is_not_read(tmp_path: Path, shop: str) -> None:
    path = written(tmp_path, tool("find", "/find"), tool("packed", "/packed"), tool("large", "/large"), url=shop)
    assert (await called(path, "find"))["encoding"] == "identity"
    with pytest.raises(ToolsUnreachable, match=r"the answer is compressed \('gzip'\), which was not asked for"):
        await called(path, "packed")
    with pytest.raises(ApiRefused, match="the answer is larger than 4,194,304 bytes"):
        await called(path, "large")
    server = server_connection(ServerForm(url=f"{shop}/packed"), tmp_path, {}, Redaction(()))
    with pytest.raises(ToolsUnreachable, match="the answer is compressed"):
        await server.list_tools()
    await server.close()
    with pytest.raises(UsageError, match="/packed: the answer is compressed"):
        await anyio.to_thread.run_sync(find_tools, f"{shop}/packed")


def test_arguments_that_cannot_be_sent_are_refused() -> None:
    form = RequestForm(path="/find/{id}", query=["a"], headers=["X-A"], body="json")
    for arguments in ({"id": "\ud800"}, {"id": 1, "a": "\ud800"}, {"id": 1, "b": "\ud800"}, {"id": float("nan")}):
        assert str(request_parts(form, arguments, "")).startswith("the arguments cannot be sent: ")


async def test_the_name_at_a_server_means_nothing_to_requests(tmp_path: Path, shop: str) -> None:
    path = written(tmp_path, {**tool("find", "/find"), "original": "search"}, url=shop)
    assert (await called(path, "find"))["path"] == "/find"


def test_names_of_headers_are_those_of_http(tmp_path: Path) -> None:
    for fields, request in (({"headers": {"Größe": "7"}}, {}), ({}, {"headers": ["Größe"]})):
        with pytest.raises(DataError, match=r"headers.*: string should match pattern"):
            written(tmp_path, tool("find", "/find", **request), url="http://shop.example", **fields)


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
