"""MCP servers at URLs, over the SDK's streamable HTTP, with a bound on the size of each answer."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from trialbed_tools.http import PLAIN, PlainBody, TooLarge, UnusableBody
from trialbed_tools.live import LARGEST_MESSAGE, ToolsUnreachable

SECONDS = 120.0
"""Timeout for the next bytes of an answer."""

# It logs tracebacks of errors raised here, which contain the server's texts.
logging.getLogger("mcp.client.streamable_http").setLevel(logging.CRITICAL)


@asynccontextmanager
async def open_url(
    url: str, headers: Mapping[str, str], _resources: ExitStack, _errors: deque[str]
) -> AsyncIterator[tuple[Any, Any]]:
    """Connect to a server. Redirects are only followed within its origin.

    Raises:
        ToolsUnreachable: it rejects a message, or its answer cannot be read.
    """
    problems: list[str] = []

    async def check(response: httpx2.Response) -> None:
        try:
            response.stream = _Bounded(response, problems)
            session = response.headers.get("mcp-session-id", "")
            if not (session.isascii() and session.isprintable()):
                raise UnusableBody("the id of the server's session is not in ASCII")
            # The stream and the end of a session, which use other methods, are optional for a server.
            if response.request.method == "POST" and response.is_error:
                text = (await response.aread())[:200].decode(errors="replace")
                raise UnusableBody(f"status {response.status_code}: {text}")
        except UnusableBody as error:
            problems.append(str(error))
            raise

    client = httpx2.AsyncClient(headers={**headers, **PLAIN}, timeout=SECONDS, event_hooks={"response": [check]})
    try:
        async with client, streamable_http_client(url, http_client=client, max_sse_event_size=None) as streams:
            yield streams
    finally:
        if problems:
            raise ToolsUnreachable(problems[0])


class _LongAnswer(httpx2.SSEError, httpx2.StreamError):
    """An answer is too large. The SDK answers this request with the error's text and keeps the session."""


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, response: httpx2.Response, problems: list[str]) -> None:
        self._body = PlainBody(response.headers, LARGEST_MESSAGE)
        self._stream: Any = response.stream
        self._problems = problems

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._stream:
                self._body.add(piece)
                yield piece
        except TooLarge as error:
            raise _LongAnswer(str(error)) from error
        except UnusableBody as error:
            self._problems.append(str(error))
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()
