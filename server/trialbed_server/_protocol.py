"""Bounds that uvicorn lacks: for the size of a request's head, and the time in which a request must arrive."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Literal

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from trialbed_server._arrival import BODY_SECONDS, HEAD_SECONDS, ArrivalDeadline, answer_and_close


class BoundedProtocol(HttpToolsProtocol):
    """Ends connections whose requests do not arrive: half a head or half a body holds none for ever.

    A body's size is bounded where it is read, and idle connections are uvicorn's own ``timeout_keep_alive``. A request
    that comes in one piece needs no deadline, and most do.

    Attributes:
        head_bytes: largest head; what comes in one piece with its end is not counted.
    """

    head_seconds = HEAD_SECONDS
    body_seconds = BODY_SECONDS
    head_bytes = 64 * 1024

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._arrival = ArrivalDeadline(self._late)
        self._part: Literal["", "head", "body"] = ""
        self._requests = 0
        self._head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """The client has connected, and is expected to ask."""
        super().connection_made(transport)
        self._arrival.expect("head", self.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._arrival.stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read the bytes that have come."""
        part, requests = self._part, self._requests
        super().data_received(data)
        began = self._requests != requests
        if not self._part:
            self._nothing_is_missing(ended=began or bool(part))
        elif began or self._part != part:
            self._head = 0
            self._arrival.expect(self._part, self.head_seconds if self._part == "head" else self.body_seconds)
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

    def handle_websocket_upgrade(self) -> None:
        """Another protocol takes over."""
        self._part = ""
        super().handle_websocket_upgrade()

    def _nothing_is_missing(self, *, ended: bool) -> None:
        if ended:
            self._arrival.stop()
        elif not self._arrival.expects and (self.cycle is None or self.cycle.response_complete):
            # Empty lines before a request begin none, but end uvicorn's own wait for one.
            self._arrival.expect("head", self.head_seconds)

    def _late(self, reason: str) -> None:
        self._refuse(HTTPStatus.REQUEST_TIMEOUT, reason)

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        self._arrival.stop()
        if self.transport.is_closing():
            return
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            # A response is under way, into which no other can be written.
            self.transport.abort()
            return
        answer_and_close(self.transport, status, reason)
