"""Answers that are there at once: written when their request is complete, without a task for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from trialbed_server._protocol import BoundedProtocol

LARGEST = 16 * 1024
"""Bytes of a request that is waited for; a larger one gets its task with its head, as its size may be refused."""

Takes = Callable[[Scope], bool]
"""Whether a request with this head may have such an answer."""

Answer = Callable[[bytes], bytes | None]
"""The body of an answer of JSON to a request with this body; None where it has to be looked for."""


class ImmediateProtocol(BoundedProtocol):
    """Answers from memory at once, and leaves all other requests to the application.

    uvicorn starts a task for each request when its head is there. The task, and the messages that it receives and
    sends, take longer than it takes to find an answer in memory.

    Args:
        takes: told of a request's head.
        answer: asked once the request is complete.
    """

    def __init__(self, *arguments: Any, takes: Takes, answer: Answer, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._takes = takes
        self._answer = answer
        self._held: tuple[RequestResponseCycle, Any] | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._held = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what has come."""
        super().data_received(data)
        if self._held is not None and not _is_small(self._held[0].scope["headers"]):
            self._start()

    def on_message_complete(self) -> None:
        """The request is complete."""
        super().on_message_complete()
        if self._held is not None:
            self._settle()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Serve a request whose head is complete, and before which every other was answered."""
        # Of what the client asks for beyond an answer, the task knows.
        plain = cycle.keep_alive and not cycle.waiting_for_100_continue and app is self.app
        if not plain or not self._takes(cast("Scope", cycle.scope)):
            super()._start_asgi_task(cycle, app)
            return
        self._held = cycle, app
        if not cycle.more_body:
            self._settle()

    def _settle(self) -> None:
        """Answer the complete request that was held, or have it served."""
        if self._held is None:
            return
        cycle, _ = self._held
        body = None if self.flow.write_paused else self._answer(bytes(cycle.body))
        if body is None:
            self._start()
            return
        self._held = None
        cycle.response_started = cycle.response_complete = True
        cycle.on_response = _nothing
        self.transport.write(self._head_of(body) + body)
        self.on_response_complete()

    def _start(self) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            super()._start_asgi_task(*held)

    def _head_of(self, body: bytes) -> bytes:
        own = b"".join(b"%b: %b\r\n" % header for header in self.server_state.default_headers)
        return b"HTTP/1.1 200 OK\r\n%bcontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (own, len(body))


def _is_small(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a request says that it is small."""
    length = next((value for name, value in headers if name == b"content-length"), b"")
    return length.isdigit() and int(length) <= LARGEST


def _nothing() -> None:
    """Do nothing: what uvicorn does at the end of a response is done."""
