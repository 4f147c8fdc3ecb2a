"""Reads a streamed answer with a strict state machine.

::

    waiting ──first event──▶ open ──finish_reason──▶ finished ──[DONE]──▶ done
       │                      │                         │
       └────── end of body, error event, malformed event: protocol error ───┘

Only a stream that is done after a finish reason is an answer.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Collection
from enum import Enum
from typing import Any

from trialbed.wire._bodies import excerpt
from trialbed.wire._events import Event, EventReader
from trialbed.wire._json import parse_json_fast
from trialbed.wire._readings import Problem, Reading, outcome_of
from trialbed.wire.dialects.chat_completions._answers import read_answer
from trialbed.wire.dialects.chat_completions._assembly import Assembly
from trialbed.wire.dialects.chat_completions._errors import reports_error

DONE = b"[DONE]"
"""The data of the event that ends a stream."""


class State(Enum):
    """The phase that a stream is in."""

    WAITING = "no event has come"
    OPEN = "the answer is under way"
    FINISHED = "a finish reason has come"
    DONE = "[DONE] has come"
    BROKEN = "the stream breaks the protocol"


class StreamReader:
    """Reads one stream from bytes that may be cut anywhere.

    Args:
        names: of the tools on offer; they settle how the pieces of a name are joined.

    Attributes:
        state: where the stream is.
        first_token: when the first token with content, arguments or reasoning came; None if none has come yet.
    """

    def __init__(self, names: Collection[str]) -> None:
        self.state = State.WAITING
        self.first_token: float | None = None
        self._events = EventReader()
        self._assembly = Assembly(names, self._note)
        self._problem: Problem | None = None
        self._notes: dict[str, str] = {}
        self._event = b""
        self._taken = 0
        self._done_after: int | None = None

    @property
    def over(self) -> bool:
        """Return whether the rest of the stream can change nothing."""
        return self.state in (State.DONE, State.BROKEN)

    def feed(self, chunk: bytes, now: float = 0.0) -> None:
        """Take a part of the body, which arrived at ``now`` on the caller's clock."""
        for event in self._events.feed(chunk):
            self._take(event, now)
        if self._events.strays:
            self._note_strays()

    def refuse(self, kind: str, message: str) -> None:
        """Stop reading, for a reason that the stream itself does not show."""
        if not self.over:
            self._break(kind, message)

    def note(self, kind: str) -> None:
        """Note a peculiarity that the stream itself does not show."""
        self._note(kind)

    def end(self, now: float = 0.0, cut: str | None = None) -> Reading:
        """Return the reading, once the body has ended.

        Args:
            now: when it ended, on the caller's clock.
            cut: why it ended early, if it did.
        """
        for event in self._events.end() if cut is None else ():
            self._take_last(event, now)
        self._note_strays()
        if self._events.marked:
            self._notes["byte_order_mark"] = r"\xef\xbb\xbf"
        if self.state not in (State.DONE, State.BROKEN):
            self._ended_early(cut)
        return self._reading()

    def _take(self, event: Event, now: float) -> None:
        self._taken += 1
        self._event = event.data
        if self.state is State.BROKEN:
            return
        if self.state is State.DONE:
            self._note("events_after_done")
        elif event.data.strip() == DONE:
            self._done_after = self._taken
            self._finish()
        else:
            self._chunk(event, now)

    def _take_last(self, event: Event, now: float) -> None:
        """Take an event that was not ended; half of one is none."""
        if event.data.strip() == DONE or _is_json(event.data):
            self._take(event, now)
            self._note("last_event_unfinished")
        elif self.state is State.WAITING and _are_events(event.data):
            self._break("malformed_event", f"no blank line ends any of the events: {excerpt(event.data)}")
        elif self.state is State.DONE:
            self._event = event.data
            self._note("bytes_after_done")

    def _note(self, kind: str) -> None:
        """Note a peculiarity, with the event in which it was seen first."""
        if kind not in self._notes:
            self._notes[kind] = excerpt(self._event)

    def _note_strays(self) -> None:
        for before, line in self._events.strays:
            after_done = self._done_after is not None and before >= self._done_after
            self._notes.setdefault("bytes_after_done" if after_done else "line_without_field", excerpt(line))

    def _chunk(self, event: Event, now: float) -> None:
        if event.name == "error":
            self._break("error_event", f"the stream reports an error: {excerpt(event.data)}")
            return
        if event.data.startswith(BOM_UTF8):
            self._note("byte_order_mark")
        try:
            chunk = parse_json_fast(event.data)
        except ValueError as error:
            self._break("malformed_event", f"an event is not JSON ({error}): {excerpt(event.data)}")
            return
        if not isinstance(chunk, dict):
            self._break("malformed_event", f"an event is not a JSON object: {excerpt(event.data)}")
        elif reports_error(chunk):
            self._break("error_event", f"the stream reports an error: {excerpt(event.data)}")
        else:
            self._add(chunk, now)

    def _add(self, chunk: dict[str, Any], now: float) -> None:
        finished = self.state is State.FINISHED
        token = self._assembly.add(chunk)
        if token and self.first_token is None:
            self.first_token = now
        if token and finished:
            self._note("tokens_after_finish")
        self.state = State.OPEN if self._assembly.finish_reason is None else State.FINISHED

    def _finish(self) -> None:
        if self.state is State.FINISHED and self._assembly.has_message:
            self.state = State.DONE
        elif self.state is State.FINISHED:
            self._break("null_message", "the stream has a finish reason but no message")
        else:
            self._break("no_finish_reason", "the stream ended with [DONE] but without a finish reason")

    def _ended_early(self, cut: str | None) -> None:
        if self.state is State.WAITING and cut is None:
            line = f", with {excerpt(self._events.strays[0][1])}" if self._events.strays else ""
            self._break("empty_stream", f"the body ended before the first event{line}")
        elif self.state is State.FINISHED:
            self._break("no_done", f"the stream ended after the finish reason, without [DONE]{_because(cut)}")
        else:
            self._break("cut_stream", f"the stream ended before the finish reason{_because(cut)}")

    def _break(self, kind: str, message: str) -> None:
        self.state = State.BROKEN
        self._problem = Problem(kind, message)

    def _reading(self) -> Reading:
        reason, response = self._assembly.finish_reason, self._assembly.completion()
        return Reading(
            outcome="protocol_error" if self._problem or reason is None else outcome_of(reason),
            finish_reason=reason,
            response=response,
            problem=self._problem,
            first_token=self.first_token,
            # In an order that does not depend on where the network cut the stream.
            notes=tuple(sorted(self._notes)),
            excerpts=dict(self._notes),
            answer=read_answer(response),
        )


def open_stream(names: Collection[str]) -> StreamReader:
    """A reader of a streamed answer to a request that offers tools with these names."""
    return StreamReader(names)


def read_stream(body: bytes, names: Collection[str] = ()) -> Reading:
    """Reads a stream that has ended.

    Args:
        names: of the tools on offer.
    """
    reader = StreamReader(names)
    reader.feed(body)
    return reader.end()


def _are_events(data: bytes) -> bool:
    """Return whether each of several lines of data would be an event by itself."""
    lines = data.split(b"\n")
    return len(lines) > 1 and all(line.strip() == DONE or _is_json(line) for line in lines)


def _is_json(data: bytes) -> bool:
    try:
        parse_json_fast(data)
    except ValueError:
        return False
    return True


def _because(cut: str | None) -> str:
    return f": {cut}" if cut else ""
