"""One request to the gateway, as it is recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from trialbed.records import Cause, ModelCall
from trialbed.spans import Span
from trialbed_server.gateway.observation import Observation, observe, offered_names
from trialbed_server.trials import LogBudget, body_text

READ_LIMIT = 32 * 2**20
"""Bytes of a response that are read for usage and tool calls; what follows is only counted."""

GONE = "the framework closed the connection before the answer was complete"


class Exchange:
    """Watches one request from arrival to end; in flight until ``end``.

    Args:
        elapsed: the trial's clock, seconds since it was opened.
        budget: what the log may keep.
        request: the request's body, without secrets.

    Attributes:
        step: whether it counts as one of the trial's requests to the model.
        cause: whose fault its failure is; None while there is none.
    """

    def __init__(self, elapsed: Callable[[], float], budget: LogBudget, request: bytes) -> None:
        self.document = _parsed(request)
        self.stream = bool(self.document.get("stream"))
        self.status = 0
        self.done = False
        self._elapsed = elapsed
        self._budget = budget
        self._request = request
        self._started = elapsed()
        self._first_byte: float | None = None
        self._events = False
        self._response = bytearray()
        self._length = 0
        self._error: str | None = None
        self.step = False
        self.cause: Cause | None = None
        self._ended: ModelCall | None = None

    def began(self, status: int, *, events: bool) -> None:
        """The answer's head was sent; ``events``: its body are server-sent events."""
        self.status = status
        self._events = events

    def wrote(self, chunk: bytes) -> None:
        """A part of the answer's body was sent."""
        if self._first_byte is None:
            self._first_byte = self._elapsed() - self._started
        self._length += len(chunk)
        self._response += chunk[: READ_LIMIT - len(self._response)]

    def failed(self, error: str, cause: Cause) -> None:
        """Something went wrong: in words, and whose fault it is."""
        self._error, self.cause = error, cause

    def left(self) -> None:
        """The framework went away first."""
        self.status = 0
        self._error, self.cause = self._error or GONE, self.cause or "gone"

    def end(self) -> None:
        """Nothing more will happen."""
        if self._ended is None:
            self._ended = self.record()
            self._response, self._request, self.document = bytearray(), b"", {}

    def record(self) -> ModelCall:
        """The record so far; the status is 0 while there is no answer."""
        if self._ended is not None:
            return self._ended
        seen = self._observation()
        return ModelCall(
            started=self._started,
            duration=self._elapsed() - self._started,
            first_token=self._first_byte,
            status=self.status,
            stream=self.stream,
            request=self._budget.keep(body_text(self._request)),
            response=self._budget.keep(body_text(bytes(self._response))),
            request_bytes=len(self._request),
            response_bytes=self._length,
            usage=seen.usage,
            finish_reason=seen.finish_reason,
            tool_calls=seen.tool_calls,
            error=self._error,
            cause=self.cause,
        )

    def waiting(self) -> Span:
        """When the gateway repeated the request after failures, or waited to do so."""
        return self._started, self._started

    def _observation(self) -> Observation:
        return observe(bytes(self._response), offered_names(self.document), stream=self._events)


def _parsed(request: bytes) -> dict[str, Any]:
    try:
        document = json.loads(request)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
