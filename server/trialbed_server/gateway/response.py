"""Writes the gateway's response to the framework, and records it in its exchange."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from typing import Any

from starlette.types import Receive, Send

from trialbed.records import Cause
from trialbed_scripted import Response
from trialbed_server._aiohttp import aiohttp
from trialbed_server.gateway.exchange import RecordedExchange

Header = tuple[bytes, bytes]

JSON_TYPE: Header = (b"content-type", b"application/json")
FINAL: Header = (b"x-should-retry", b"false")
"""Asks the SDKs of OpenAI, and those made alike, not to send the request again."""

NOT_CACHED: Header = (b"cache-control", b"no-cache")
EVENTS = "text/event-stream"
EVENTS_TYPE: Header = (b"content-type", b"text/event-stream; charset=utf-8")

REST = 1.0
"""Seconds within which a connection is at its end after an answer that is over, so that it can be used again."""


class ResponseWriter:
    """Sends one response, each piece as soon as it is there.

    Attributes:
        over: whether all that is still written changes nothing.
    """

    def __init__(self, send: Send, exchange: RecordedExchange) -> None:
        self.exchange = exchange
        self.started = False
        self.over = False
        self._send = send

    async def start(self, status: int, headers: Iterable[Header]) -> None:
        """Send the head."""
        headers = list(headers)
        events = any(name == b"content-type" and value.startswith(b"text/event-stream") for name, value in headers)
        self.started = True
        self.exchange.began(status, events=events)
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def write(self, chunk: bytes) -> None:
        """Send a part of the body."""
        if chunk:
            self.exchange.wrote(chunk)
            await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def finish(self) -> None:
        """The body is complete."""
        self.exchange.done = True
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def document(self, document: Any, status: int = 200, headers: Iterable[Header] = ()) -> None:
        """Send a whole response of JSON."""
        body = json.dumps(document).encode("ascii")
        await self.start(status, [JSON_TYPE, (b"content-length", str(len(body)).encode()), *headers])
        await self.write(body)
        await self.finish()

    async def response(self, response: Response, pause: Callable[[], Awaitable[None]] | None = None) -> None:
        """Send a response that is complete, part by part.

        Args:
            pause: waits between two parts.
        """
        size = [(b"content-length", b"%d" % len(response.body))] if response.sized else []
        headers = [(name.lower().encode(), value.encode()) for name, value in response.headers.items()]
        kind = [EVENTS_TYPE, NOT_CACHED] if response.content_type == EVENTS else [JSON_TYPE]
        await self.start(response.status, [*kind, *size, *headers])
        for place, part in enumerate(response.parts):
            # Not after the last part: its end is the end of the answer for a client, which may hang up then.
            if place and pause is not None:
                await pause()
            await self.write(part)
        await self.finish()

    async def error(self, message: str, status: int, kind: str, cause: Cause, *, code: str | None = None) -> None:
        """Send an error in the form of the request's dialect and record it.

        Args:
            cause: whose fault it is.
            code: the error's own code; the status by default.
        """
        self.exchange.failed(message, cause)
        error = self.exchange.dialect.write_error(message, kind, code=code or str(status))
        await self.document(error, status, [FINAL])


async def while_connected(receive: Receive, exchange: RecordedExchange, work: Coroutine[Any, Any, None]) -> None:
    """Do the work unless the framework goes away first, which ends it and is recorded."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnect(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done() or exchange.done:
            await task
        else:
            exchange.left()
    except Exception as error:
        exchange.failed(f"the gateway failed: {type(error).__name__}: {error}", "gateway")
        raise
    finally:
        await _end(task, gone)
        exchange.end()


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def next_piece(pieces: AsyncIterator[bytes], writer: ResponseWriter) -> bytes | None:
    """Return the next piece of an answer, None at its end; one that is over may end as it will."""
    try:
        async with asyncio.timeout(REST if writer.over else None):
            return await anext(pieces, None)
    except (aiohttp.ClientError, OSError):
        if writer.over:
            return None
        raise
