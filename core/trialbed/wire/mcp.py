"""A trial's tools over the Model Context Protocol (MCP), with the first or second generation of the official SDK.

Both have a low-level server, which passes schemas and arguments on unchanged. Its interface differs: other packages in
an environment decide which generation it has (AutoGen needs the first).
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from trialbed.records import ToolSpec

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

NAME = "trialbed"

INVALID_PARAMS = -32602
"""JSON-RPC's code for an unknown tool, as MCP has it."""


class OfferedTools:
    """The tools of a trial, with unchanged schemas.

    Args:
        call: makes a call, and returns its text and whether that is an error's.
    """

    def __init__(
        self, tools: Sequence[ToolSpec], call: Callable[[ToolSpec, dict[str, Any]], Awaitable[tuple[str, bool]]]
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._call = call

    async def list_tools(self) -> Any:
        """Return the tools, in their order."""
        from mcp import types

        tools = [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}
            for tool in self._tools.values()
        ]
        return types.ListToolsResult.model_validate({"tools": tools})

    async def call_tool(self, params: Any) -> Any:
        """Make a call.

        Raises:
            Exception: the trial does not have this tool. The SDK sends the exception's code and text.
        """
        from mcp import types
        from mcp.shared import exceptions

        if params.name not in self._tools:
            sdk: Any = exceptions
            said = f"Unknown tool: {params.name}"
            if hasattr(sdk, "MCPError"):
                raise sdk.MCPError(INVALID_PARAMS, said)
            raise sdk.McpError(types.ErrorData(code=INVALID_PARAMS, message=said))
        text, is_error = await self._call(self._tools[params.name], params.arguments or {})
        return types.CallToolResult.model_validate({"content": [{"type": "text", "text": text}], "isError": is_error})


def load_sdk() -> None:
    """Import the SDK in advance, which takes about as long as starting a server, to speed up the next request."""
    import_module("mcp.server.lowlevel")
    import_module("mcp.server.streamable_http_manager")


async def serve_request(tools: OfferedTools, scope: Scope, receive: Receive, send: Send, *, max_body: int) -> None:
    """Serve one HTTP request of MCP's streamable transport.

    Without sessions, a request needs only its URL; without streams, every answer is one JSON document.

    Args:
        max_body: largest request in bytes.
    """
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    settings: dict[str, Any] = {"json_response": True, "stateless": True}
    # Older releases have no bound.
    if _takes(StreamableHTTPSessionManager, "max_request_body_size"):
        settings["max_request_body_size"] = max_body
    make = _second_generation if _takes(Server, "on_list_tools") else _first_generation
    manager = StreamableHTTPSessionManager(make(Server, tools), **settings)
    async with manager.run():
        await manager.handle_request(scope, receive, send)


@cache
def _takes(made: type, setting: str) -> bool:
    return setting in inspect.signature(made.__init__).parameters  # type: ignore[misc] # of this class, and no other


def _first_generation(server_class: Any, tools: OfferedTools) -> Any:
    types: Any = import_module("mcp.types")

    async def list_tools(_request: Any) -> Any:
        return types.ServerResult(await tools.list_tools())

    async def call_tool(request: Any) -> Any:
        return types.ServerResult(await tools.call_tool(request.params))

    server = server_class(NAME, version=version("trialbed"))
    server.request_handlers[types.ListToolsRequest] = list_tools
    server.request_handlers[types.CallToolRequest] = call_tool
    return server


def _second_generation(server_class: Any, tools: OfferedTools) -> Any:
    async def list_tools(_context: Any, _params: Any) -> Any:
        return await tools.list_tools()

    async def call_tool(_context: Any, params: Any) -> Any:
        return await tools.call_tool(params)

    return server_class(NAME, version=version("trialbed"), on_list_tools=list_tools, on_call_tool=call_tool)
