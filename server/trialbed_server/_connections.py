"""Connections of clients: bounds that uvicorn lacks, and answers for which no task is started."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Literal, cast

import httptools
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from trialbed_server._http import stated_length

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
    """Adds these deadlines to the connections of a server that has none.

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
        """Pass the bytes on, and note which part of the request has arrived."""
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
        """The client reads again."""
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
            # Nothing large is kept here, where the transport's own limit does not count it.
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
    """Ends connections whose requests do not arrive: half a head or half a body keeps none open for long.

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
        super().connection_made(cast("asyncio.Transport", JoiningTransport(transport)))
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
        """The connection changes to another protocol."""
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


LARGEST = 16 * 1024
"""Bytes of a request that is waited for; a larger one gets its task with its head, as its size may be refused."""


class ImmediateProtocol(BoundedProtocol):
    """Answers from memory at once, and leaves all other requests to the application, when their bodies are there.

    uvicorn starts a task for each request when its head is there. The task, and the messages that it receives and
    sends, take longer than it takes to find an answer in memory.

    Args:
        admits: returns whether a request with this head may be answered at once.
        answer: returns the JSON for this body; None if that takes a task. It raises nothing.
    """

    def __init__(
        self, *arguments: Any, admits: Callable[[Scope], bool], answer: Callable[[bytes], bytes | None], **named: Any
    ) -> None:
        super().__init__(*arguments, **named)
        self._admits = admits
        self._answer = answer
        self._held: tuple[RequestResponseCycle, Any] | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._held = None
        super().connection_lost(exc)

    def on_message_complete(self) -> None:
        """The request is complete."""
        super().on_message_complete()
        self._settle()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Serve a request whose head is complete, and before which every other was answered."""
        if cycle.waiting_for_100_continue or not 0 < stated_length(cast("Scope", cycle.scope)) <= LARGEST:
            super()._start_asgi_task(cycle, app)
            return
        self._held = cycle, app
        if not cycle.more_body:
            self._settle()

    def _settle(self) -> None:
        """Answer the complete request that was held, or have it served."""
        if self._held is None:
            return
        (cycle, app), self._held = self._held, None
        # The task knows of all that the client asks for beyond an answer.
        plain = cycle.keep_alive and app is self.app and not self.flow.write_paused
        body = self._answer(bytes(cycle.body)) if plain and self._admits(cast("Scope", cycle.scope)) else None
        if body is None:
            super()._start_asgi_task(cycle, app)
            return
        cycle.response_started = cycle.response_complete = True
        cycle.on_response = lambda: None  # what uvicorn does at the end of a response is done below
        own = b"".join(b"%b: %b\r\n" % header for header in self.server_state.default_headers)
        head = b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[200] + own + head + body)
        self.on_response_complete()
