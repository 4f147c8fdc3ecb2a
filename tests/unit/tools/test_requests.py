"""Live tools that are HTTP requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from support.servers import listening

from trialbed.errors import DataError
from trialbed.tasks import AnsweredApi
from trialbed_tools._writing import write_tools
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
        return await bodies[name].call(arguments, owner, here, here)
    finally:
        await bodies[name].end_trial(owner)
        await bodies[name].end_run()


@pytest.fixture
async def shop() -> AsyncIterator[str]:
    """An API that says what it was asked."""

    async def api(request: Request) -> Response:
        return JSONResponse({"path": request.url.path, "keys": len(request.headers.getlist("x-key"))})

    async with listening(Starlette(routes=[Route("/{rest:path}", api)])) as url:
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
