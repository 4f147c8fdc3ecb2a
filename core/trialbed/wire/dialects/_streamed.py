"""The common part of readers of streams whose events say their type."""

from __future__ import annotations

from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections.abc import Mapping
from enum import Enum
from typing import Any

from trialbed.wire._bodies import excerpt
from trialbed.wire._events import Event, EventReader
from trialbed.wire._exchange import Document, ModelAnswer
from trialbed.wire._json import parse_json_fast
from trialbed.wire._readings import Problem, Reading, outcome_of
from trialbed.wire.dialects._values import mapping_of

DONE = b"[DONE]"
"""Data with which servers end streams that were chat completions' before; it says nothing."""


class Phase(Enum):
    """The phase that a stream is in."""

    WAITING = "no event has come"
    OPEN = "the answer is under way"
    DONE = "the last event has come"
    BROKEN = "the stream breaks the protocol"


class TypedStream(ABC):
    """Reads one stream from bytes that may be cut anywhere.

    Attributes:
        MARK: the type of the event that ends a stream; empty where none does so alone.
        first_token: when the first token with text, arguments or reasoning came; None if none has come yet.
    """

    MARK = ""

    def __init__(self) -> None:
        self.first_token: float | None = None
        self._phase = Phase.WAITING
        self._finished = False
        self._events = EventReader()
        self._problem: Problem | None = None
        self._notes: dict[str, str] = {}
        self._event = b""

    @abstractmethod
    def _add(self, kind: str, event: Mapping[str, Any]) -> bool:
        """Take an event of a type; return whether it has a token."""

    @abstractmethod
    def _document(self) -> Document:
        """Return the answer as far as it came, as one that is not streamed."""

    @abstractmethod
    def _answer(self, document: Document) -> ModelAnswer:
        """Read the answer in it."""

    @abstractmethod
    def _problem_at_end(self) -> tuple[str, str] | None:
        """Return why a stream that has its last event is no answer: a kind and a message; None where it is one."""

    @property
    def over(self) -> bool:
        """Return whether the rest of the stream can change nothing."""
        return self._phase in (Phase.DONE, Phase.BROKEN)

    def feed(self, chunk: bytes, now: float = 0.0) -> None:
        """Take a part of the body, which arrived at ``now`` on the caller's clock."""
        for event in self._events.feed(chunk):
            self._take(event, now)

    def refuse(self, kind: str, message: str) -> None:
        """Stop reading, for a reason that the stream itself does not show."""
        if not self.over:
            self._break(kind, message)

    def note(self, kind: str) -> None:
        """Note a peculiarity that the stream itself does not show."""
        self._note(kind)

    def end(self, now: float = 0.0, cut: str | None = None) -> Reading:
        """Return the reading, once the body has ended; ``cut``: why it ended early, if it did."""
        for event in self._events.end() if cut is None else ():
            if _is_json(event.data):
                self._take(event, now)
                self._note("last_event_unfinished")
        for _, line in self._events.strays:
            self._notes.setdefault("line_without_field", excerpt(line))
        if self._events.marked:
            self._notes["byte_order_mark"] = r"\xef\xbb\xbf"
        if not self.over:
            self._ended_early(cut)
        return self._reading()

    def _take(self, event: Event, now: float) -> None:
        self._event = event.data
        if self._phase is Phase.BROKEN or event.data.strip() == DONE:
            return
        if self._phase is Phase.DONE:
            self._note("events_after_done")
            return
        if event.data.startswith(BOM_UTF8):
            self._note("byte_order_mark")
        try:
            found = parse_json_fast(event.data)
        except ValueError as error:
            self._break("malformed_event", f"an event is not JSON ({error}): {excerpt(event.data)}")
            return
        if isinstance(found, dict):
            self._read(event, found, now)
        else:
            self._break("malformed_event", f"an event is not a JSON object: {excerpt(event.data)}")

    def _read(self, event: Event, found: Mapping[str, Any], now: float) -> None:
        kind = found.get("type")
        name = kind if isinstance(kind, str) else event.name
        if "error" in (name, event.name) or (not name and found.get("error")):
            code = mapping_of(found.get("error") or found)
            words = f"the stream reports an error: {excerpt(event.data)}"
            self._break("error_event", words, code.get("code") or code.get("type"))
            return
        self._phase = Phase.OPEN
        if self._add(name, found) and self.first_token is None:
            self.first_token = now
        if (self.MARK and name == self.MARK) or self._ends(name):
            self._finish()

    def _ends(self, kind: str) -> bool:  # noqa: ARG002 - dialects with several last events override it
        """Return whether an event of this type ends the stream, too."""
        return False

    def _finish(self) -> None:
        problem = self._problem_at_end()
        if problem is None:
            self._phase = Phase.DONE
        else:
            self._break(*problem)

    def _ended_early(self, cut: str | None) -> None:
        because = f": {cut}" if cut else ""
        if self._phase is Phase.WAITING and cut is None:
            self._break("empty_stream", "the body ended before the first event")
        elif self._finished:
            self._break("no_done", f"the stream ended after the finish reason, without its last event{because}")
        else:
            self._break("cut_stream", f"the stream ended before the finish reason{because}")

    def _break(self, kind: str, message: str, code: Any = None) -> None:
        self._phase = Phase.BROKEN
        self._problem = Problem(kind, message, code)

    def _note(self, kind: str) -> None:
        """Note a peculiarity, with the event in which it was seen first."""
        self._notes.setdefault(kind, excerpt(self._event))

    def _reading(self) -> Reading:
        document = self._document()
        answer = self._answer(document)
        reason = answer.finish_reason
        return Reading(
            outcome="protocol_error" if self._problem or reason is None else outcome_of(reason),
            finish_reason=reason,
            response=document,
            problem=self._problem,
            first_token=self.first_token,
            notes=tuple(sorted(self._notes)),
            excerpts=dict(self._notes),
            answer=answer,
        )


def _is_json(data: bytes) -> bool:
    try:
        parse_json_fast(data)
    except ValueError:
        return False
    return True
