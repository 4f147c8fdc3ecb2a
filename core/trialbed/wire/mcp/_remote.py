"""The tools at a trial's URL, offered over standard streams."""

from __future__ import annotations

from itertools import count
from typing import Any

from trialbed.wire._httpx import httpx, tls_for
from trialbed.wire.mcp._server import refusal, sdk_server

INTERNAL_ERROR = -32603
"""JSON-RPC's code for a failure of the server."""

TIMEOUT = 600.0
"""Seconds for one request; the trial ends earlier."""


class RemoteTools:
    """The tools of a trial, over MCP's streamable HTTP."""

    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        self._url = url
        self._client = client
        self._ids = count(1)

    async def list_tools(self) -> list[dict[str, Any]]:
        """The tools, as MCP describes them."""
        tools: list[dict[str, Any]] = (await self._ask("tools/list", {}))["tools"]
        return tools

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Make a call.

        Raises:
            Exception: the trial does not have this tool, or cannot be reached; the one that ``refusal`` makes.
        """
        return await self._ask("tools/call", {"name": name, "arguments": arguments})

    async def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        request = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        headers = {"accept": "application/json, text/event-stream"}
        try:
            answered = (await self._client.post(self._url, json=request, headers=headers)).json()
        except (httpx.HTTPError, ValueError) as error:
            raise refusal(
                f"the trial's tools cannot be reached: {type(error).__name__}: {error}", INTERNAL_ERROR
            ) from error
        if "error" in answered:
            raise refusal(answered["error"]["message"], answered["error"]["code"])
        result: dict[str, Any] = answered["result"]
        return result


async def serve_stdio(url: str) -> None:
    """Offer the tools at this URL to the client at the other end of standard input and output, until it is gone."""
    from mcp.server.stdio import stdio_server

    async with httpx.AsyncClient(timeout=TIMEOUT, verify=tls_for(url)) as client, stdio_server() as (read, write):
        server = sdk_server(RemoteTools(url, client))
        await server.run(read, write, server.create_initialization_options())
