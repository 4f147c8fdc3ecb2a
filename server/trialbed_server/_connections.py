"""Connections of clients, with the bounds that uvicorn lacks."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Literal, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

JOINED = 64 * 1024
"""Bytes that are sent before the next turn of the loop."""


class JoiningTransport:
    """Sends all bytes of one turn of the loop together, such as the head of a response and its body."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._written = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send some bytes with all that is written before the next turn."""
        if not self._written:
            asyncio.get_running_loop().call_soon(self._send)
        self._written += data
        if len(self._written) > JOINED:
            # Keep nothing large here, because the transport's own limit does not count it.
            self._send()

    def close(self) -> None:
        """Send all written bytes, and end the connection."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        written, self._written = self._written, b""
        if written and not self._transport.is_closing():
            self._transport.write(written)


class BoundedProtocol(HttpToolsProtocol):
    """Close connections with requests that do not arrive; half a head or half a body keeps no connection open for long.

    A body's size is limited by its reader, and idle connections are closed by uvicorn's ``timeout_keep_alive``. A
    request that comes in one piece needs no deadline, and most do.

    Attributes:
        head_seconds: from the connection, or the first byte of a later request, to the end of the head.
        body_seconds: from the end of the head to the end of the body.
        head_bytes: largest head. Heads that come in one piece with their end are not counted.
    """

    head_seconds = 60.0
    body_seconds = 120.0
    head_bytes = 64 * 1024

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._timer: asyncio.TimerHandle | None = None
        self._part: Literal["", "head", "body"] = ""
        self._requests = 0
        self._head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """The client has connected, and is expected to ask."""
        super().connection_made(cast("asyncio.Transport", JoiningTransport(transport)))
        self._expect("head")

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._expect("")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read the bytes that have come."""
        part, requests = self._part, self._requests
        super().data_received(data)
        began = self._requests != requests
        if not self._part and (began or part):
            self._expect("")
        elif not self._part:
            if self._timer is None and (self.cycle is None or self.cycle.response_complete):
                # Empty lines before a request begin none, but end uvicorn's own wait for one.
                self._expect("head")
        elif began or self._part != part:
            self._head = 0
            self._expect(self._part)
        elif part == "head":
            self._head += len(data)
            if self._head > self.head_bytes:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"the head exceeds {self.head_bytes} bytes")

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._part = "head"
        self._requests += 1

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._part = "body"
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._part = ""
        super().on_message_complete()

    def _expect(self, part: Literal["", "head", "body"]) -> None:
        """Expect the rest of a head or a body in time, or nothing."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if part:
            seconds = self.head_seconds if part == "head" else self.body_seconds
            reason = f"the {part} of the request did not arrive within {seconds:g} s"
            self._timer = self.loop.call_later(seconds, self._refuse, HTTPStatus.REQUEST_TIMEOUT, reason)

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        self._expect("")
        if self.transport.is_closing():
            return
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            # A response is under way, into which no other can be written.
            self.transport.abort()
            return
        self.transport.write(
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
            f"content-length: {len(reason)}\r\nconnection: close\r\n\r\n{reason}".encode()
        )
        self.transport.close()
