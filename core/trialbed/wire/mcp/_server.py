"""A server of tools, made with the SDK's first or second generation, whichever is installed.

Both have a low-level server, which passes schemas and arguments on as they are. Its interface differs: other packages
in an environment decide which generation it has (AutoGen needs the first).
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any, Protocol

from starlette.types import Receive, Scope, Send

from trialbed.records import ToolSpec

NAME = "trialbed"

INVALID_PARAMS = -32602
"""JSON-RPC's code for an unknown tool, as MCP has it."""


def refusal(message: str, code: int = INVALID_PARAMS) -> Exception:
    """Return the SDK's own exception for a request that cannot be served; its code and its text are sent."""
    from mcp import types
    from mcp.shared import exceptions

    sdk: Any = exceptions
    if hasattr(sdk, "MCPError"):
        made: Exception = sdk.MCPError(code, message)
    else:
        made = sdk.McpError(types.ErrorData(code=code, message=message))
    return made


class ToolSource(Protocol):
    """The source of the tools; its arguments and results are MCP's JSON."""

    async def list_tools(self) -> list[dict[str, Any]]:
        """The tools: ``name``, ``description``, ``inputSchema``."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of a call: ``content``, ``isError``.

        Raises:
            Exception: the trial does not have this tool; the one that ``refusal`` makes.
        """


class OfferedTools:
    """The tools of a trial, with their schemas as they are.

    Args:
        call: makes a call, and returns its text and whether that is an error's.
    """

    def __init__(
        self, tools: Sequence[ToolSpec], call: Callable[[ToolSpec, dict[str, Any]], Awaitable[tuple[str, bool]]]
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._call = call

    async def list_tools(self) -> list[dict[str, Any]]:
        """Return the tools, in their order."""
        return [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}
            for tool in self._tools.values()
        ]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Make a call.

        Raises:
            Exception: the trial does not have this tool; the one that ``refusal`` makes.
        """
        if name not in self._tools:
            raise refusal(f"Unknown tool: {name}")
        text, is_error = await self._call(self._tools[name], arguments)
        return {"content": [{"type": "text", "text": text}], "isError": is_error}


def load_sdk() -> None:
    """Import the SDK, which takes about as long as starting a server, so that the next request need not."""
    import_module("mcp.server.lowlevel")
    import_module("mcp.server.streamable_http_manager")


async def serve_request(source: ToolSource, scope: Scope, receive: Receive, send: Send, *, max_body: int) -> None:
    """Serve one HTTP request of MCP's streamable transport.

    Without sessions, a request needs only its URL; without streams, every answer is one JSON document.

    Args:
        max_body: largest request in bytes.
    """
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    settings: dict[str, Any] = {"json_response": True, "stateless": True}
    # Older releases have no bound.
    if _takes(StreamableHTTPSessionManager, "max_request_body_size"):
        settings["max_request_body_size"] = max_body
    manager = StreamableHTTPSessionManager(sdk_server(source), **settings)
    async with manager.run():
        await manager.handle_request(scope, receive, send)


def sdk_server(source: ToolSource) -> Any:
    """The SDK's server for these tools."""
    from mcp.server.lowlevel import Server

    make = _second_generation if _takes(Server, "on_list_tools") else _first_generation
    return make(Server, source)


@cache
def _takes(made: type, setting: str) -> bool:
    return setting in inspect.signature(made.__init__).parameters  # type: ignore[misc] # of this class, and no other


def _first_generation(server_class: Any, source: ToolSource) -> Any:
    types: Any = import_module("mcp.types")

    async def list_tools(_request: Any) -> Any:
        return types.ServerResult(await _list_tools(source))

    async def call_tool(request: Any) -> Any:
        return types.ServerResult(await _call_tool(source, request.params))

    server = server_class(NAME, version=version("trialbed"))
    server.request_handlers[types.ListToolsRequest] = list_tools
    server.request_handlers[types.CallToolRequest] = call_tool
    return server


def _second_generation(server_class: Any, source: ToolSource) -> Any:
    async def list_tools(_context: Any, _params: Any) -> Any:
        return await _list_tools(source)

    async def call_tool(_context: Any, params: Any) -> Any:
        return await _call_tool(source, params)

    return server_class(NAME, version=version("trialbed"), on_list_tools=list_tools, on_call_tool=call_tool)


async def _list_tools(source: ToolSource) -> Any:
    from mcp import types

    return types.ListToolsResult.model_validate({"tools": await source.list_tools()})


async def _call_tool(source: ToolSource, params: Any) -> Any:
    from mcp import types

    return types.CallToolResult.model_validate(await source.call_tool(params.name, params.arguments or {}))
