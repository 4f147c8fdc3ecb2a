"""A trial's tools as the official client sees them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.mcp_clients import over_http
from support.servers import SCHEMA, TOOL, TRIAL, Serve, closed, registration

from trialbed import mcp_url
from trialbed.wire.redaction import Redaction
from trialbed_tools.forms import ServerForm
from trialbed_tools.servers import server_connection

CITY = {"city": "Oslo"}


def plain(result: Any) -> Any:
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


@pytest.mark.filterwarnings("ignore:Use `streamable_http_client`:DeprecationWarning")
async def test_the_official_client_lists_and_calls_the_tools(serve: Serve) -> None:
    client = await serve()
    assert (await client.post("/control/trials", json=registration())).status_code == 201
    async with over_http(mcp_url(f"{client.base_url}/t/{TRIAL}/virtual".replace("//t", "/t"))) as session:
        (tool,) = plain(await session.list_tools())["tools"]
        assert (tool["name"], tool["description"], tool["inputSchema"]) == (TOOL["name"], "d", SCHEMA)
        good, bad = [plain(await session.call_tool(TOOL["name"], given)) for given in (CITY, {"city": 5})]
        assert set(json.loads(good["content"][0]["text"])) == {"temperature", "sky"}
        assert bad["isError"] is True
        assert bad["content"][0]["text"].startswith("Error: ")
        with pytest.raises(Exception, match="Unknown tool: other"):
            await session.call_tool("other", {})
    assert [call["arguments"] for call in (await closed(client))["api_calls"]] == [CITY, {"city": 5}]


def test_the_url_is_beside_that_of_the_virtual_api() -> None:
    assert mcp_url("http://127.0.0.1:1/t/token/virtual") == "http://127.0.0.1:1/t/token/mcp"


async def test_the_client_of_live_tools_understands_the_official_one(serve: Serve, tmp_path: Path) -> None:
    client = await serve()
    assert (await client.post("/control/trials", json=registration())).status_code == 201
    url = mcp_url(f"{client.base_url}/t/{TRIAL}/virtual".replace("//t", "/t"))
    connection = server_connection(ServerForm(url=url), tmp_path, {}, Redaction(()))
    (tool,) = await connection.list_tools()
    assert (tool["name"], tool["inputSchema"]) == (TOOL["name"], SCHEMA)
    answer = await connection.call(TOOL["name"], CITY)
    await connection.close()
    (recorded,) = (await closed(client))["api_calls"]
    assert (json.loads(answer.response), answer.error) == (recorded["response"], "")
