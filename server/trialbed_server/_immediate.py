"""Answers from memory, written when their request is complete, without a task for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from trialbed_server._protocol import BoundedProtocol

LARGEST = 16 * 1024
"""Bytes of a request that is waited for; a larger one gets its task with its head, as its size may be refused."""


class ImmediateProtocol(BoundedProtocol):
    """Answers from memory at once, and leaves all other requests to the application.

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
        # The task knows of all that the client asks for beyond an answer.
        plain = cycle.keep_alive and not cycle.waiting_for_100_continue and app is self.app
        length = next((value for name, value in cycle.scope["headers"] if name == b"content-length"), b"")
        if not (plain and length.isdigit() and int(length) <= LARGEST and self._admits(cast("Scope", cycle.scope))):
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
        body = None if self.flow.write_paused else self._answer(bytes(cycle.body))
        if body is None:
            super()._start_asgi_task(cycle, app)
            return
        cycle.response_started = cycle.response_complete = True
        cycle.on_response = lambda: None  # what uvicorn does at the end of a response is done below
        own = b"".join(b"%b: %b\r\n" % header for header in self.server_state.default_headers)
        head = b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[200] + own + head + body)
        self.on_response_complete()
