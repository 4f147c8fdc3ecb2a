"""A client of the Model Context Protocol: initialises a session, lists tools, calls them.

The SDK's transports read lines and answers of any length, and differ between its generations. Here all messages of a
foreign server have a bound.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import count
from typing import Any, Protocol

from trialbed_tools.live import CallAnswer, ToolsUnreachable

PROTOCOL = "2025-06-18"

MOST_PAGES, MOST_TOOLS = 100, 2_000
"""Answers, and tools, of one list."""

MOST_MESSAGES = 10_000
"""Messages that a server sends before its answer."""

SECONDS, MOST_SECONDS = 120.0, 600.0
"""For the next message of a server, and for its answer to one request, or its whole list of tools."""

ENDING_SECONDS = 2.0
"""In which a server may end by itself, or end the session."""

METHOD_NOT_FOUND = -32601
REFUSALS = (-32602, METHOD_NOT_FOUND)
"""Codes of JSON-RPC that speak of the call."""


class McpChannel(Protocol):
    """Takes messages to a server, and brings those that it sends."""

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message.

        Raises:
            ToolsUnreachable: the server is gone.
        """

    async def receive(self) -> dict[str, Any]:
        """Return the next message.

        Raises:
            ToolsUnreachable: the server is gone, or sends none that can be read.
        """

    async def close(self) -> None:
        """End the server, or the session with it."""


class McpConnection:
    """A session with a server, which is begun with the first request.

    Args:
        open_channel: starts the server, or connects to it.
    """

    def __init__(self, open_channel: Any) -> None:
        self._open = open_channel
        self._channel: McpChannel | None = None
        self._ids = count(1)
        self._turn = asyncio.Lock()

    async def list_tools(self) -> list[dict[str, Any]]:
        """Return the tools, as MCP describes them.

        Raises:
            ToolsUnreachable: there is no such list.
        """
        with _timely("list of tools"):
            async with asyncio.timeout(MOST_SECONDS):
                return await self._list()

    async def _list(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            page = await self._result("tools/list", params)
            tools, cursor = page.get("tools"), page.get("nextCursor")
            if not isinstance(tools, list):
                raise ToolsUnreachable("the server answers tools/list without tools")
            found += tools
            if len(found) > MOST_TOOLS:
                raise ToolsUnreachable(f"the server has more than {MOST_TOOLS:,} tools")
            if not isinstance(cursor, str) or not cursor:
                return found
            params = {"cursor": cursor}
        raise ToolsUnreachable(f"the server lists its tools in more than {MOST_PAGES} answers")

    async def call(self, name: str, arguments: dict[str, Any]) -> CallAnswer:
        """Call a tool.

        Raises:
            ToolsUnreachable: there is no answer.
        """
        answer = await self._request("tools/call", {"name": name, "arguments": arguments})
        error = answer.get("error")
        if isinstance(error, dict):
            text = str(error.get("message", "refused"))[:2000]
            if error.get("code") in REFUSALS:
                return CallAnswer(error=text)
            raise ToolsUnreachable(f"the server answers with an error: {text[:500]}")
        result = answer.get("result")
        if not isinstance(result, dict):
            raise ToolsUnreachable("the server answers without a result")
        return tool_answer(result)

    async def close(self) -> None:
        """End the session."""
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        answer = await self._request(method, params)
        result = answer.get("result")
        if not isinstance(result, dict):
            raise ToolsUnreachable(f"the server answers {method} with {json.dumps(answer.get('error'))[:300]}")
        return result

    async def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        async with self._turn:
            if self._channel is None:
                self._channel = await self._begin()
            try:
                return await self._exchange(self._channel, method, params)
            except ToolsUnreachable:
                # A later trial may find the server again.
                await self.close()
                raise

    async def _begin(self) -> McpChannel:
        channel: McpChannel = await self._open()
        try:
            client = {"name": "trialbed", "version": version("trialbed")}
            params = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
            answer = await self._exchange(channel, "initialize", params)
            if not isinstance(answer.get("result"), dict):
                raise ToolsUnreachable(f"the server refuses to begin: {json.dumps(answer.get('error'))[:300]}")
            await channel.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except BaseException:
            await channel.close()
            raise
        return channel

    async def _exchange(self, channel: McpChannel, method: str, params: dict[str, Any]) -> dict[str, Any]:
        with _timely("answer"):
            async with asyncio.timeout(MOST_SECONDS):
                return await self._ask(channel, method, params)

    async def _ask(self, channel: McpChannel, method: str, params: dict[str, Any]) -> dict[str, Any]:
        asked = next(self._ids)
        await channel.send({"jsonrpc": "2.0", "id": asked, "method": method, "params": params})
        for _ in range(MOST_MESSAGES):
            message = await channel.receive()
            if "method" in message:
                if "id" in message:
                    await channel.send(_reply(message))
            elif message.get("id") == asked:
                return message
        raise ToolsUnreachable(f"the server sends {MOST_MESSAGES:,} messages and no answer")


@contextmanager
def _timely(name: str) -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise ToolsUnreachable(f"the server gives no {name} within {MOST_SECONDS:g} s") from None


def _reply(message: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request of the server: nobody is here to sample a model or to fill in a form."""
    head = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "ping":
        return {**head, "result": {}}
    return {**head, "error": {"code": METHOD_NOT_FOUND, "message": "this client does not offer it"}}


def read_message(text: bytes) -> Any:
    """Return the value of a text that a server sends; None if it is none in JSON.

    Raises:
        ToolsUnreachable: it is a message, and not in strict JSON, or nested too deeply.
    """
    from trialbed.wire import finite_float, parse_json

    try:
        return parse_json(text, finite_float)
    except ValueError as error:
        if b'"jsonrpc"' in text:
            raise ToolsUnreachable(f"the server sends a message that is not valid JSON: {error}") from error
        return None


def tool_answer(result: dict[str, Any]) -> CallAnswer:
    """Return the result of a call as an answer: its structured content, else its content as text."""
    from trialbed_tools.http import read_value

    content = result.get("content")
    parts = [_part(part) for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    if result.get("isError") is True:
        return CallAnswer(error="\n".join(map(str, parts))[:20_000] or "the tool failed")
    if result.get("structuredContent") is not None:
        return CallAnswer(result["structuredContent"])
    values = [read_value(part) if isinstance(part, str) else part for part in parts]
    return CallAnswer(values[0] if len(values) == 1 else values)


def _part(part: dict[str, Any]) -> Any:
    """Return a part of a result: text as it is; the type and size of an image or a file, and not its bytes."""
    kind = part.get("type")
    if kind == "text":
        return str(part.get("text", ""))
    if kind == "resource" and isinstance(part.get("resource"), dict):
        part = {"type": kind, **part["resource"]}
    size = next((len(part[key]) for key in ("data", "blob") if isinstance(part.get(key), str)), None)
    kept = {key: part[key] for key in ("type", "uri", "name", "description", "mimeType", "text") if key in part}
    return kept if size is None else {**kept, "base64_characters": size}
