"""The tools of a trial over the Model Context Protocol, as Trialbed's server offers them."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web
from starlette.types import Message

from trialbed.wire.mcp import OfferedTools, load_sdk, serve_request


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
