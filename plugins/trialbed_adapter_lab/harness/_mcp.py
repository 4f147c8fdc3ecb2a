"""The tools of a trial over the Model Context Protocol, as Trialbed's server offers them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from aiohttp import web
from starlette.types import Message

from trialbed.tools import reply_text
from trialbed.wire.mcp import Refused, load_sdk, serve_request
from trialbed_adapter_lab.harness._tools import ApiReply, ScriptedTool

Call = Callable[[ScriptedTool, dict[str, Any]], Awaitable[ApiReply]]


class OfferedTools:
    """The tools of a trial.

    Args:
        call: answers a call, and records it.
    """

    def __init__(self, tools: Sequence[ScriptedTool], call: Call) -> None:
        self._tools = {item.name: item for item in tools}
        self._call = call

    async def list_tools(self) -> list[dict[str, Any]]:
        """Return the tools, sorted by name."""
        specs = [self._tools[name].spec for name in sorted(self._tools)]
        return [{"name": spec.name, "description": spec.description, "inputSchema": spec.parameters} for spec in specs]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Make a call.

        Raises:
            Refused: the trial does not have this tool.
        """
        if name not in self._tools:
            raise Refused(f"Unknown tool: {name}")
        reply = await self._call(self._tools[name], arguments)
        if reply.status != 200:
            return _result(f"Error: the server returned status {reply.status}", is_error=True)
        answer = {"error": reply.error, "response": reply.response}
        return _result(reply_text(answer), is_error=bool(reply.error))


async def serve_mcp(request: web.Request, tools: OfferedTools, *, max_body: int) -> web.Response:
    """Answer one request."""
    # It takes long the first time, and other trials are served meanwhile.
    await asyncio.to_thread(load_sdk)
    body = await request.read()
    sent: list[Message] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return waiting.pop() if waiting else await asyncio.get_running_loop().create_future()

    async def send(message: Message) -> None:
        sent.append(message)

    await serve_request(tools, _scope(request), receive, send, max_body=max_body)
    content = b"".join(message.get("body", b"") for message in sent[1:])
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"] if name != b"content-length"}
    return web.Response(status=sent[0]["status"], body=content, headers=headers)


def _scope(request: web.Request) -> dict[str, Any]:
    headers = [(name.lower(), value) for name, value in request.raw_headers]
    return {
        "type": "http",
        "method": request.method,
        "path": request.path,
        "query_string": b"",
        "headers": headers,
    }


def _result(text: str, *, is_error: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}
