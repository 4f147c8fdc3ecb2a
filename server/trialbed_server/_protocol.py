"""Bounds that uvicorn lacks: for the size of a request's head, and the time in which a request must arrive."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class BoundedProtocol(HttpToolsProtocol):
    """Ends connections whose requests do not arrive: half a head or half a body holds none for ever.

    A body's size is bounded where it is read, and idle connections are uvicorn's own ``timeout_keep_alive``.

    Attributes:
        head_seconds: from the connection, or the first byte of a later request, to the end of the head.
        body_seconds: from the end of the head to the end of the body.
        head_bytes: largest head; what comes in one piece with its end is not counted.
    """

    head_seconds = 60.0
    body_seconds = 120.0
    head_bytes = 64 * 1024

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._in_head = False
        self._head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """The client has connected, and is expected to ask."""
        super().connection_made(transport)
        self._expect("head", self.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what has come."""
        in_head = self._in_head
        super().data_received(data)
        if in_head and self._in_head:
            self._head += len(data)
            if self._head > self.head_bytes:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"the head exceeds {self.head_bytes} bytes")
        elif self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            # Empty lines before a request begin none, but end uvicorn's own wait for one.
            self._expect("head", self.head_seconds)

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._in_head, self._head = True, 0
        self._expect("head", self.head_seconds)

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._in_head = False
        self._expect("body", self.body_seconds)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._stop()
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Another protocol takes over."""
        self._stop()
        super().handle_websocket_upgrade()

    def _expect(self, part: str, seconds: float) -> None:
        self._stop()
        self._deadline = self.loop.call_later(seconds, self._expired, part, seconds)

    def _expired(self, part: str, seconds: float) -> None:
        self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"the {part} of the request did not arrive within {seconds:g} s")

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        self._stop()
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
