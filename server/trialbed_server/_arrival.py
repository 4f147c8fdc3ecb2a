"""The time in which a request must arrive, for connections of any server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import cast

import httptools

HEAD_SECONDS = 60.0
"""From the connection, or the first byte of a later request, to the end of the head."""

BODY_SECONDS = 120.0
"""From the end of the head to the end of the body."""


class ArrivalDeadline:
    """The time by which the part of a request that is expected must have arrived.

    Args:
        late: called with the reason if it has not.
    """

    def __init__(self, late: Callable[[str], None]) -> None:
        self._late = late
        self._timer: asyncio.TimerHandle | None = None

    @property
    def expects(self) -> bool:
        """Return whether a part is expected."""
        return self._timer is not None

    def expect(self, part: str, seconds: float) -> None:
        """Expect this part, and no other."""
        self.stop()
        reason = f"the {part} of the request did not arrive within {seconds:g} s"
        self._timer = asyncio.get_running_loop().call_later(seconds, self._late, reason)

    def stop(self) -> None:
        """Expect nothing."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def answer_and_close(transport: asyncio.Transport, status: HTTPStatus, reason: str) -> None:
    """Refuse a request, and end its connection."""
    transport.write(
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
        f"content-length: {len(reason)}\r\nconnection: close\r\n\r\n{reason}".encode()
    )
    transport.close()


class BoundedConnection(asyncio.Protocol):
    """Gives a connection of a server that lacks them these deadlines.

    Args:
        inner: the server's protocol, which gets all that comes.
    """

    head_seconds = HEAD_SECONDS
    body_seconds = BODY_SECONDS

    def __init__(self, inner: asyncio.Protocol) -> None:
        self._inner = inner
        self._arrival = ArrivalDeadline(self._late)
        self._parser: httptools.HttpRequestParser | None = httptools.HttpRequestParser(self)
        self._requests = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The client has connected, and is expected to ask."""
        self._transport = cast("asyncio.Transport", transport)
        self._arrival.expect("head", self.head_seconds)
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._leave()
        self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Hand on the bytes that have come, and see how far the request is."""
        if self._parser is not None:
            try:
                self._parser.feed_data(data)
            except (httptools.HttpParserError, httptools.HttpParserUpgrade):
                # The server refuses it, or answers without what follows.
                self._leave()
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """The client sends no more."""
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """The client has read on."""
        self._inner.resume_writing()

    def on_message_begin(self) -> None:
        """A head begins."""
        self._requests += 1
        self._arrival.expect("head", self.head_seconds)

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._arrival.expect("body", self.body_seconds)

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._arrival.stop()

    def _leave(self) -> None:
        self._arrival.stop()
        # It refers to this object.
        self._parser = None

    def _late(self, reason: str) -> None:
        self._leave()
        if self._requests > 1:
            # The response to an earlier request may be under way, into which no other can be written.
            self._transport.abort()
        elif not self._transport.is_closing():
            answer_and_close(self._transport, HTTPStatus.REQUEST_TIMEOUT, reason)
