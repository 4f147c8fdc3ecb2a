"""MCP servers at URLs, over streamable HTTP: an answer is one JSON document, or a stream of events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from trialbed.wire import EventReader
from trialbed_tools._rpc import ENDING_SECONDS, SECONDS, read_message
from trialbed_tools.http import PLAIN, PlainBody, UnusableBody
from trialbed_tools.live import LARGEST, ToolsUnreachable

if TYPE_CHECKING:
    import httpx


class UrlChannel:
    """A server at a URL. The messages of an answer are read as they come, up to that which answers the request."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = {**headers, **PLAIN, "accept": "application/json, text/event-stream"}
        self._asked: dict[str, Any] = {}
        self._messages: AsyncGenerator[dict[str, Any]] | None = None
        self._answer = AsyncExitStack()
        self._client: httpx.AsyncClient | None = None

    async def send(self, message: dict[str, Any]) -> None:
        """Post a message; the answer to a request stays open."""
        from trialbed.wire._httpx import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(timeout=SECONDS)
        with _raise_unreachable():
            async with AsyncExitStack() as stack:
                posting = self._client.stream("POST", self._url, json=message, headers=self._headers)
                answer = await stack.enter_async_context(posting)
                if not answer.is_success:
                    text = (await _content(answer))[:200].decode(errors="replace")
                    raise ToolsUnreachable(f"status {answer.status_code}: {text}")
                session = answer.headers.get("mcp-session-id")
                if session:
                    if not _is_header(session):
                        raise ToolsUnreachable("the id of the server's session is not in ASCII")
                    self._headers["mcp-session-id"] = session
                if "method" not in message or "id" not in message:
                    return  # it asks nothing
                await self._let_go()
                self._asked, self._messages, self._answer = message, _messages(answer), stack.pop_all()

    async def receive(self) -> dict[str, Any]:
        """Return the next message of the answer to the last request."""
        found = None
        if self._messages is not None:
            with _raise_unreachable():
                found = await anext(self._messages, None)
        if found is None:
            await self._let_go()
            raise ToolsUnreachable("the server sends no answer")
        if "method" not in found and found.get("id") == self._asked["id"]:
            result = found.get("result")
            if self._asked["method"] == "initialize" and isinstance(result, dict):
                chosen = result.get("protocolVersion")
                if isinstance(chosen, str) and _is_header(chosen):
                    self._headers["mcp-protocol-version"] = chosen
            await self._let_go()
        return found

    async def close(self) -> None:
        """End the session."""
        from trialbed.wire._httpx import httpx

        await self._let_go()
        if self._client is None:
            return
        if "mcp-session-id" in self._headers:
            with suppress(httpx.HTTPError, TimeoutError):
                async with asyncio.timeout(ENDING_SECONDS):
                    await self._client.delete(self._url, headers=self._headers)
        await self._client.aclose()

    async def _let_go(self) -> None:
        """Read no more of the last answer."""
        messages, self._messages = self._messages, None
        stack, self._answer = self._answer, AsyncExitStack()
        if messages is not None:
            await messages.aclose()
        with suppress(ToolsUnreachable), _raise_unreachable():
            await stack.aclose()


@contextmanager
def _raise_unreachable() -> Iterator[None]:
    from trialbed.wire._httpx import httpx

    try:
        yield
    except UnusableBody as error:
        raise ToolsUnreachable(str(error)) from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ToolsUnreachable(f"{type(error).__name__}: {error}") from error


def _is_header(text: str) -> bool:
    return text.isascii() and text.isprintable()


async def _content(answer: httpx.Response) -> bytes:
    body = PlainBody(answer.headers, LARGEST)
    async for piece in answer.aiter_raw():
        body.add(piece)
    return body.content()


async def _messages(answer: httpx.Response) -> AsyncGenerator[dict[str, Any]]:
    if not answer.headers.get("content-type", "").startswith("text/event-stream"):
        for found in _objects(await _content(answer)):
            yield found
        return
    body, events = PlainBody(answer.headers, LARGEST), EventReader()
    async for piece in answer.aiter_raw():
        body.add(piece)
        for event in events.feed(piece):
            for found in _objects(event.data):
                yield found
    for event in events.end():
        for found in _objects(event.data):
            yield found


def _objects(text: bytes) -> list[dict[str, Any]]:
    value = read_message(text)
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]
