"""The common part of writers of streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from trialbed.wire._events import event_bytes
from trialbed.wire._exchange import Document, ModelAnswer, ModelRequest, TextKind
from trialbed.wire.dialects._fields import pieces


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
