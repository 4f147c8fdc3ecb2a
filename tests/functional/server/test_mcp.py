"""A trial's tools over the Model Context Protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.mcp_clients import over_http
from support.servers import SCHEMA, TOOL, TRIAL, Serve, closed, registration, virtual

from trialbed import mcp_url
from trialbed.wire.redaction import Redaction
from trialbed_tools.forms import ServerForm
from trialbed_tools.servers import server_connection

PATH = f"/t/{TRIAL}/mcp"
ACCEPT = {"accept": "application/json, text/event-stream"}
CITY = {"city": "Oslo"}


def message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


def called(arguments: Any = CITY, name: str = TOOL["name"]) -> dict[str, Any]:
    return message("tools/call", name=name, arguments=arguments)


async def opened(serve: Serve, **fields: Any) -> httpx.AsyncClient:
    client = await serve()
    client.headers.update(ACCEPT)
    reply = await client.post("/control/trials", json=registration(**fields))
    assert reply.status_code == 201, reply.text
    return client


async def test_a_client_learns_who_serves_and_that_there_are_tools(serve: Serve) -> None:
    client = await opened(serve)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    result = (await client.post(PATH, json=message("initialize", **hello))).json()["result"]
    assert result["serverInfo"]["name"] == "trialbed"
    assert "tools" in result["capabilities"]
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await client.post(PATH, json=ready)).status_code == 202


@pytest.mark.parametrize(
    "schema",
    [
        SCHEMA,
        {"type": "object", "properties": {}},
        {
            "type": "object",
            "$defs": {"City": {"enum": ["Oslo", None], "x-unknown": [1.0, "é"]}},
            "properties": {"city": {"$ref": "#/$defs/City", "default": None}, "self": True},
            "additionalProperties": {"type": ["string", "null"]},
        },
    ],
)
async def test_schemas_arrive_unaltered(serve: Serve, schema: dict[str, Any]) -> None:
    tools = [{**TOOL, "name": name, "parameters": schema} for name in ("a-B_1", "x" * 64)]
    client = await opened(serve, tools=tools)
    listed = (await client.post(PATH, json=message("tools/list"))).json()["result"]["tools"]
    assert [(tool["name"], tool["description"]) for tool in listed] == [("a-B_1", "d"), ("x" * 64, "d")]
    assert [tool["inputSchema"] for tool in listed] == [schema] * 2
    await closed(client)


async def test_a_call_is_answered_and_recorded_as_one_to_the_virtual_api(serve: Serve) -> None:
    client = await opened(serve)
    plain = (await client.post(f"/t/{TRIAL}/virtual", json=virtual(CITY))).json()
    result = (await client.post(PATH, json=called())).json()["result"]
    assert result["isError"] is False
    assert [json.loads(part["text"]) for part in result["content"]] == [plain["response"]]
    first, second = (await closed(client))["api_calls"]
    assert second["provenance"] == f"cache:{first['provenance']}"
    assert {**first, "started": 0, "duration": 0, "provenance": ""} == {
        **second,
        "started": 0,
        "duration": 0,
        "provenance": "",
    }


@pytest.mark.parametrize(
    "arguments", [{}, {"city": 5}, {"town": "Oslo"}, {"city": "Oslo", "self": None}, {"city": 10**30}, {"city": [[{}]]}]
)
async def test_arguments_pass_unchecked(serve: Serve, arguments: dict[str, Any]) -> None:
    client = await opened(serve)
    plain = (await client.post(f"/t/{TRIAL}/virtual", json=virtual(arguments))).json()
    result = (await client.post(PATH, json=called(arguments))).json()["result"]
    assert result["isError"] is bool(plain["error"])
    if plain["error"]:
        assert result["content"][0]["text"].startswith(f"Error: {plain['error']}".rstrip())
    assert [call["arguments"] for call in (await closed(client))["api_calls"]] == [arguments] * 2


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b'{"jsonrpc": NaN}', b"[" * 100_000, b'{"id": ' + b"1" * 5_000 + b"}"],
    ids=["empty", "cut", "no-utf8", "nan", "deep", "long-number"],
)
async def test_what_is_not_json_is_refused(serve: Serve, body: bytes) -> None:
    client = await opened(serve)
    reply = await client.post(PATH, content=body, headers={"content-type": "application/json"})
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == -32700


async def test_other_methods_are_unknown(serve: Serve) -> None:
    client = await opened(serve)
    assert (await client.post(PATH, json=message("resources/list"))).json()["error"]["code"] == -32601
    for method in ("GET", "DELETE", "PUT"):
        assert (await client.request(method, PATH)).status_code == 405


async def test_it_is_guarded_as_the_other_urls_of_a_trial(serve: Serve) -> None:
    client = await opened(serve)
    foreign = {"origin": "https://evil.example", "host": "gateway.internal"}
    assert (await client.post(PATH, json=message("tools/list"), headers=foreign)).status_code == 200
    assert (await client.post("/t/another-token/mcp", json=message("tools/list"))).status_code == 404
    assert (await client.post("/mcp", json=message("tools/list"))).status_code == 404
    await closed(client)
    gone = await client.post(PATH, json=message("tools/list"))
    assert gone.status_code == 410
    assert gone.json()["error"]["message"] == "this trial is closed"


async def test_large_requests_pass_up_to_the_servers_own_bound(serve: Serve) -> None:
    client = await serve(max_body=6 * 2**20)
    await client.post("/control/trials", json=registration())
    for size, status in ((5, 200), (7, 413)):
        reply = await client.post(PATH, json=called({"city": "x" * (size << 20)}), headers=ACCEPT)
        assert reply.status_code == status, reply.text[:200]
    assert len((await closed(client))["api_calls"]) == 1


async def test_a_secret_that_an_agent_repeats_is_masked(serve: Serve) -> None:
    client = await serve(upstream="http://127.0.0.1:9/v1", upstream_key="sk-secret-of-the-endpoint")
    await client.post("/control/trials", json=registration())
    reply = await client.post(PATH, json=called({"city": "sk-secret-of-the-endpoint"}), headers=ACCEPT)
    assert "sk-secret" not in reply.text
    assert "sk-secret" not in json.dumps(await closed(client))


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
