"""Answers that are there at once: written when their request is complete, without a task for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from trialbed_server._protocol import BoundedProtocol

LARGEST = 16 * 1024
"""Bytes of a request that is waited for; a larger one gets its task with its head, as its size may be refused."""


class ImmediateAnswer(NamedTuple):
    """An answer that is there at once: its body is JSON."""

    body: bytes
    status: int = 200


Answer = Callable[[bytes], ImmediateAnswer | None]
"""The answer to a request with this body; None where it takes a task. It raises nothing."""

Immediate = Callable[[Scope], Answer | None]
"""Return the function that may answer a request with this head at once; None where none may."""


class ImmediateProtocol(BoundedProtocol):
    """Answers from memory at once, and leaves all other requests to the application.

    uvicorn starts a task for each request when its head is there. The task, and the messages that it receives and
    sends, take longer than it takes to find an answer in memory.

    Args:
        immediate: called with a request's head; the function it returns is called once the request is complete.
    """

    def __init__(self, *arguments: Any, immediate: Immediate, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._immediate = immediate
        self._held: tuple[RequestResponseCycle, Any, Answer] | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._held = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read the bytes that have come."""
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
        # The task knows of all that the client asks for beyond an answer.
        plain = cycle.keep_alive and not cycle.waiting_for_100_continue and app is self.app
        answer = self._immediate(cast("Scope", cycle.scope)) if plain else None
        if answer is None:
            super()._start_asgi_task(cycle, app)
            return
        self._held = cycle, app, answer
        if not cycle.more_body:
            self._settle()

    def _settle(self) -> None:
        """Answer the complete request that was held, or have it served."""
        if self._held is None:
            return
        cycle, _, answer = self._held
        ready = None if self.flow.write_paused else answer(bytes(cycle.body))
        if ready is None:
            self._start()
            return
        self._held = None
        cycle.response_started = cycle.response_complete = True
        cycle.on_response = _nothing
        self.transport.write(self._head_of(ready) + ready.body)
        self.on_response_complete()

    def _start(self) -> None:
        if self._held is not None:
            (cycle, app, _), self._held = self._held, None
            super()._start_asgi_task(cycle, app)

    def _head_of(self, ready: ImmediateAnswer) -> bytes:
        own = b"".join(b"%b: %b\r\n" % header for header in self.server_state.default_headers)
        line, length = STATUS_LINE[ready.status], len(ready.body)
        return b"%b%bcontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (line, own, length)


def _is_small(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a request says that it is small."""
    length = next((value for name, value in headers if name == b"content-length"), b"")
    return length.isdigit() and int(length) <= LARGEST


def _nothing() -> None:
    """Do nothing: what uvicorn does at the end of a response is done."""
