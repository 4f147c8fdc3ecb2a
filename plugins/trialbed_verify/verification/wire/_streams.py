"""A streamed answer as a strict state machine.

::

    waiting ──first event──▶ open ──finish_reason──▶ finished ──[DONE]──▶ done
       │                      │                         │
       └────── end of body, error event, malformed event: protocol error ───┘

Only ``done`` after ``finished`` is an answer.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import Any

from trialbed_verify.verification.wire._assembly import Assembly
from trialbed_verify.verification.wire._outcomes import Problem, Reading, outcome_of
from trialbed_verify.verification.wire._sse import Event, EventReader
from trialbed_verify.verification.wire.json_text import parsed_fast

SHOWN = 300
"""Characters of a broken event that its message shows."""

DONE = b"[DONE]"


class State(Enum):
    """Where a stream is."""

    WAITING = "no event has come"
    OPEN = "the answer is under way"
    FINISHED = "a finish reason has come"
    DONE = "the end was announced"
    BROKEN = "the protocol was broken"


class StreamReading:
    """Reads one stream.

    Args:
        names: of the tools on offer.
    """

    def __init__(self, names: Collection[str]) -> None:
        self.state = State.WAITING
        self.first_token: float | None = None
        self._events = EventReader()
        self._assembly = Assembly(names)
        self._problem: Problem | None = None
        self._notes: dict[str, None] = {}

    @property
    def over(self) -> bool:
        """Whether nothing that could still come matters."""
        return self.state in (State.DONE, State.BROKEN)

    def feed(self, chunk: bytes, now: float) -> None:
        """Take a part of the body that arrived at ``now``."""
        for event in self._events.feed(chunk):
            self._take(event, now)

    def refuse(self, kind: str, message: str) -> None:
        """Take nothing more, for a reason that the stream itself does not show."""
        if not self.over:
            self._broken(kind, message)

    def end(self, now: float, cut: str | None = None) -> Reading:
        """The body has ended; ``cut`` says why it ended before its time, if it did."""
        for event in self._events.end() if cut is None else ():
            self._take(event, now)
        if self.state not in (State.DONE, State.BROKEN):
            self._ended_early(cut)
        return self._reading()

    def _take(self, event: Event, now: float) -> None:
        if self.state is State.BROKEN:
            return
        if self.state is State.DONE:
            self._notes["events_after_done"] = None
        elif event.data.strip() == DONE:
            self._done()
        else:
            self._chunk(event, now)

    def _chunk(self, event: Event, now: float) -> None:
        try:
            chunk = parsed_fast(event.data)
        except ValueError as error:
            self._broken("malformed_event", f"an event is not JSON ({error}): {_shown(event.data)}")
            return
        if not isinstance(chunk, dict):
            self._broken("malformed_event", f"an event is no JSON object: {_shown(event.data)}")
        elif event.name == "error" or _is_error(chunk):
            self._broken("error_event", f"the stream reported an error: {_shown(event.data)}")
        else:
            self._add(chunk, now)

    def _add(self, chunk: dict[str, Any], now: float) -> None:
        finished = self.state is State.FINISHED
        token = self._assembly.add(chunk)
        if token and self.first_token is None:
            self.first_token = now
        if token and finished:
            self._notes["tokens_after_finish"] = None
        self.state = State.OPEN if self._assembly.finish_reason is None else State.FINISHED

    def _done(self) -> None:
        if self.state is State.FINISHED and self._assembly.has_message:
            self.state = State.DONE
        elif self.state is State.FINISHED:
            self._broken("null_message", "the stream had a finish reason, but no piece of any message")
        else:
            self._broken("no_finish_reason", "the stream announced its end without any finish reason")

    def _ended_early(self, cut: str | None) -> None:
        if self.state is State.WAITING and cut is None:
            self._broken("empty_stream", "the body ended without any event")
        elif self.state is State.FINISHED:
            self._broken("no_done", f"the stream ended after the finish reason without [DONE]{_because(cut)}")
        else:
            self._broken("cut_stream", f"the stream ended before any finish reason{_because(cut)}")

    def _broken(self, kind: str, message: str) -> None:
        self.state = State.BROKEN
        self._problem = Problem(kind, message)

    def _reading(self) -> Reading:
        reason = self._assembly.finish_reason
        return Reading(
            outcome="protocol_error" if self._problem or reason is None else outcome_of(reason),
            finish_reason=reason,
            response=self._assembly.completion(),
            problem=self._problem,
            first_token=self.first_token,
            notes=tuple(self._notes),
        )


def _is_error(chunk: dict[str, Any]) -> bool:
    return bool(chunk.get("error")) and not chunk.get("choices")


def _shown(data: bytes) -> str:
    return data[:SHOWN].decode("utf-8", "replace")


def _because(cut: str | None) -> str:
    return f": {cut}" if cut else ""
