"""The common parts of readers and writers of streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

from trialbed.wire._events import Event, EventReader, event_bytes
from trialbed.wire._exchange import Document, ModelAnswer, ModelRequest, TextKind
from trialbed.wire._json import parse_json_fast
from trialbed.wire._readings import Problem, Reading, excerpt, reading_of
from trialbed.wire.dialects._fields import mapping_of, pieces

DONE = b"[DONE]"
"""Data at the end of chat completion streams; in other dialects' streams it has no meaning."""


Phase = Literal["waiting", "open", "done", "broken"]
"""The phase of a stream, before its first event, in its answer, after its last event, or after a fault."""


class AnswerStream(ABC):
    """Reads one stream from bytes that may be cut anywhere.

    Args:
        read_answer: reads the answer in a document of the dialect.

    Attributes:
        LAST: the event that ends a stream, for messages.
        first_token: when the first token with text, arguments or reasoning came; None if none has come yet.
        pieces: pieces of text with their kinds since the list was last emptied; None does not collect them.
    """

    LAST = "its last event"

    def __init__(self, read_answer: Callable[[Document], ModelAnswer]) -> None:
        self._read_answer = read_answer
        self.first_token: float | None = None
        self.pieces: list[tuple[TextKind, str]] | None = None
        self._phase: Phase = "waiting"
        self._finished = False
        self._events = EventReader()
        self._problem: Problem | None = None
        self._notes: dict[str, str] = {}
        self._event = b""
        self._taken = 0
        self._last: int | None = None

    @abstractmethod
    def _read(self, event: Event, found: Document, now: float) -> None:
        """Take an event that is a JSON object."""

    @abstractmethod
    def _document(self) -> Document:
        """Return the received part of the answer as a document."""

    @property
    def over(self) -> bool:
        """Return whether the rest of the stream can change nothing."""
        return self._phase in ("done", "broken")

    def feed(self, chunk: bytes, now: float = 0.0) -> None:
        """Take a part of the body, which arrived at ``now`` on the caller's clock."""
        for event in self._events.feed(chunk):
            self._taken += 1
            self._take(event, now)
        if self._events.strays:
            self._note_strays()

    def refuse(self, kind: str, message: str) -> None:
        """Stop reading, for a reason that the stream itself does not show."""
        if not self.over:
            self._break(kind, message)

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
        if not self.over:
            self._ended_early(cut)
        document = self._document()
        return reading_of(
            document, self._read_answer(document), self._problem, self._notes, first_token=self.first_token
        )

    def _take(self, event: Event, now: float) -> None:
        self._event = event.data
        if self._phase == "done":
            self.note("events_after_done")
        elif self._phase != "broken":
            self._take_json(event, now)

    def _take_json(self, event: Event, now: float) -> None:
        found: Any = None
        wrong = "an event is not a JSON object"
        if event.data.startswith(BOM_UTF8):
            self.note("byte_order_mark")
        try:
            found = parse_json_fast(event.data)
        except ValueError as error:
            wrong = f"an event is not JSON ({error})"
        if isinstance(found, dict):
            self._read(event, found, now)
        elif event.name == "error":
            self._break_by_error(event)
        else:
            self._break("malformed_event", f"{wrong}: {excerpt(event.data)}")

    def _take_last(self, event: Event, now: float) -> None:
        """Take an unfinished last event, unless its data are cut."""
        self._event = event.data
        if event.data.strip() == DONE or _is_json(event.data):
            self._taken += 1
            self._take(event, now)
            self.note("last_event_unfinished")
        elif self._phase == "waiting" and _are_events(event.data):
            self._break("malformed_event", f"no blank line ends any of the events: {excerpt(event.data)}")
        elif self._phase == "done":
            self.note("bytes_after_done")

    def _ended_early(self, cut: str | None) -> None:
        because = f": {cut}" if cut else ""
        if self._phase == "waiting" and cut is None:
            line = f", with {excerpt(self._events.strays[0][1])}" if self._events.strays else ""
            self._break("empty_stream", f"the body ended before the first event{line}")
        elif self._finished:
            self._break("no_done", f"the stream ended after the finish reason, without {self.LAST}{because}")
        else:
            self._break("cut_stream", f"the stream ended before the finish reason{because}")

    def _finish(self, problem: Problem | None) -> None:
        """End the stream with the last event; ``problem`` says why it is not an answer."""
        self._last = self._taken
        self._phase = "done" if problem is None else "broken"
        self._problem = problem

    def _break(self, kind: str, message: str, code: Any = None) -> None:
        self._phase = "broken"
        self._problem = Problem(kind, message, code)

    def _break_by_error(self, event: Event, code: Any = None) -> None:
        self._break("error_event", f"the stream reports an error: {excerpt(event.data)}", code)

    def note(self, kind: str) -> None:
        """Note a peculiarity with the current event, even if the stream itself does not show it."""
        if kind not in self._notes:
            self._notes[kind] = excerpt(self._event)

    def _note_strays(self) -> None:
        for before, line in self._events.strays:
            late = self._last is not None and before >= self._last
            self._notes.setdefault("bytes_after_done" if late else "line_without_field", excerpt(line))


class StreamPart:
    """A part of an answer, such as a text or a call, that comes in pieces.

    Attributes:
        first: its beginning.
        texts: field -> the pieces of its text.
        done: the whole, if it has come.
    """

    def __init__(self, first: Mapping[str, Any]) -> None:
        self.first = first
        self.texts: dict[str, list[str]] = {}
        self.done: Document = {}


class TypedStream(AnswerStream):
    """Reads a stream of events that name their type.

    Args:
        problem_of: returns why a document is not an answer of the dialect.

    Attributes:
        ENDS: the types of the events that end a stream.
        PLACE: the field of events with the place of their part.
        KINDS: field of a part -> the kind of its text.
        UNKNOWN: stands for the beginning of a part that did not come.
    """

    ENDS: frozenset[str] = frozenset()
    PLACE = "index"
    KINDS: Mapping[str, TextKind] = MappingProxyType({})
    UNKNOWN: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self, read_answer: Callable[[Document], ModelAnswer], problem_of: Callable[[Document], Problem | None]
    ) -> None:
        super().__init__(read_answer)
        self._problem_of = problem_of
        self._parts: dict[int, StreamPart] = {}

    @abstractmethod
    def _add(self, kind: str, event: Mapping[str, Any]) -> bool:
        """Take an event of a type; return whether it has a token."""

    def _take(self, event: Event, now: float) -> None:
        if event.data.strip() != DONE:
            super()._take(event, now)

    def _read(self, event: Event, found: Document, now: float) -> None:
        kind = found.get("type")
        name = kind if isinstance(kind, str) else event.name
        if "error" in (name, event.name) or (not name and found.get("error")):
            code = mapping_of(found.get("error") or found)
            self._break_by_error(event, code.get("code") or code.get("type"))
            return
        self._phase = "open"
        if self._add(name, found) and self.first_token is None:
            self.first_token = now
        if name in self.ENDS:
            self._finish(self._problem_of(self._document()))

    def _begin(self, event: Mapping[str, Any], first: Mapping[str, Any]) -> StreamPart:
        part = self._parts[self._place(event, len(self._parts))] = StreamPart(first)
        return part

    def _extend(self, event: Mapping[str, Any], field: str, text: str) -> bool:
        """Add a piece of a text to its part; return whether the piece has content."""
        place = self._place(event, len(self._parts) - 1)
        if place not in self._parts:
            self.note("call_index_wrong")
            self._parts[place] = StreamPart(self.UNKNOWN)
        if text:
            self._tell(field, text)
            self._parts[place].texts.setdefault(field, []).append(text)
        return bool(text)

    def _tell(self, field: str, text: str) -> None:
        if self.pieces is not None and field in self.KINDS:
            self.pieces.append((self.KINDS[field], text))

    def _place(self, event: Mapping[str, Any], otherwise: int) -> int:
        """Return the place of an event's part in the answer, which is its index if it has one."""
        index = event.get(self.PLACE)
        if type(index) is int:
            return index
        self.note("call_index_missing")
        return otherwise


def _are_events(data: bytes) -> bool:
    """Return whether the data are several lines that are each a complete event."""
    lines = data.split(b"\n")
    return len(lines) > 1 and all(line.strip() == DONE or _is_json(line) for line in lines)


def _is_json(data: bytes) -> bool:
    try:
        parse_json_fast(data)
    except ValueError:
        return False
    return True


class AnswerWriter(ABC):
    """Writes one answer as a stream, texts piece by piece, calls and the end once they are complete.

    Args:
        head: the id, the model and the time of the answer, and the usage at the beginning of its stream.
        request: the request that it answers.
    """

    def __init__(self, head: ModelAnswer, request: ModelRequest) -> None:
        self._head, self._request = head, request
        self._begun = self._cut = False
        self._said: dict[TextKind, list[str]] = {}

    def add(self, kind: TextKind, text: str) -> bytes:
        """Return the events of a further piece of a text."""
        self._said.setdefault(kind, []).append(text)
        return self._encode([*self._first(kind), *self._part(kind, (text,))])

    def end(self, answer: ModelAnswer) -> bytes:
        """Return the events of all that is not written yet, and of the end.

        Args:
            answer: the whole.

        Raises:
            ValueError: it does not begin with the texts that have been written.
        """
        return self._encode(self.rest(answer, None)) + self._after()

    def fail(self, message: str, kind: str, *, code: str | None = None) -> bytes:
        """Return the last events of a stream that cannot go on; ``kind`` is the error's type."""
        return self._encode(self._failure(message, kind, code)) + self._after()

    def rest(self, answer: ModelAnswer, piece: int | None) -> Iterator[Document]:
        """Yield the events of all that is not written yet, and of the end; ``piece``: characters of one event."""
        yield from self._first("" if answer.content is None else "text")
        texts: dict[TextKind, str | None] = {"reasoning": answer.reasoning or None}
        texts |= {"text": None if answer.content is None else answer.text, "refusal": answer.refusal or None}
        for kind, text in texts.items():
            written = "".join(self._said.get(kind, ()))
            # Several thoughts are joined in the whole in another way.
            if text is None or (kind == "reasoning" and kind in self._said):
                continue
            if not text.startswith(written):
                raise ValueError("the answer's end does not match its beginning")
            if kind not in self._said or text != written:
                yield from self._part(kind, pieces(text[len(written) :], piece))
        self._cut = answer.is_cut and not answer.calls
        yield from self._close()
        for place in range(len(answer.calls)):
            self._cut = answer.is_cut and place == len(answer.calls) - 1
            yield from self._call(answer, place, piece)
        yield from self._last(answer)

    def _first(self, kind: str) -> Iterable[Document]:
        """Return the events of the beginning unless they are already written."""
        if self._begun:
            return ()
        self._begun = True
        return self._begin(kind)

    def _encode(self, events: Iterable[Document]) -> bytes:
        return b"".join(event_bytes(event, event["type"]) for event in events)

    def _after(self) -> bytes:
        """Return the bytes after the last event."""
        return b""

    @abstractmethod
    def _begin(self, kind: str) -> Iterable[Document]:
        """Return the events of the beginning; ``kind`` is the kind of the first text, or empty without text."""

    @abstractmethod
    def _part(self, kind: TextKind, texts: Iterable[str]) -> Iterable[Document]:
        """Return the events of pieces of a text, and of its beginning if another text came before."""

    def _close(self) -> Iterable[Document]:
        """Return the events that end the last text; if ``_cut``, the answer breaks off there."""
        return ()

    @abstractmethod
    def _call(self, answer: ModelAnswer, place: int, piece: int | None) -> Iterable[Document]:
        """Return the events of a call; if ``_cut``, the answer breaks off there."""

    @abstractmethod
    def _last(self, answer: ModelAnswer) -> Iterable[Document]:
        """Return the events of the end."""

    @abstractmethod
    def _failure(self, message: str, kind: str, code: str | None) -> Iterable[Document]:
        """Return the events of an error."""
