"""Ways in which vendors break a protocol, as tables of each dialect."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from trialbed.wire._events import event_bytes
from trialbed.wire._exchange import Document

DocumentsChange = Callable[[list[Document]], list[Document]]
"""The changed events of a stream; an answer that is not streamed is a list of one."""

EventsChange = Callable[[tuple[bytes, ...]], tuple[bytes, ...]]


@dataclass(frozen=True)
class Flaws:
    """The flaws with which a dialect can write an answer; those of streams leave one as it is that is not streamed.

    Args:
        answers: the name of the dialect's answers, for messages.
        of_documents: flaw -> the change of documents.
        of_events: flaw -> the change of the bytes of a stream.
    """

    answers: str
    of_documents: Mapping[str, DocumentsChange]
    of_events: Mapping[str, EventsChange]

    @property
    def names(self) -> frozenset[str]:
        """The names of all of them."""
        return frozenset((*self.of_documents, *self.of_events))

    def change(self, documents: list[Document], flaw: str) -> list[Document]:
        """Return the documents with a flaw; flaws of events leave them as they are.

        Raises:
            LookupError: there is no such flaw.
        """
        if flaw and flaw not in self.names:
            raise LookupError(f"{self.answers} have no flaw {flaw!r}; they have {', '.join(sorted(self.names))}")
        change = self.of_documents.get(flaw)
        return documents if change is None else change(documents)

    def break_events(self, parts: tuple[bytes, ...], flaw: str) -> tuple[bytes, ...]:
        """Return the events of a stream with a flaw; flaws of documents leave them as they are."""
        change = self.of_events.get(flaw)
        return parts if change is None else change(parts)

    def write_document(self, document: Document, flaw: str) -> tuple[bytes, ...]:
        """Return the body of an answer that is not streamed."""
        return (json.dumps(self.change([document], flaw)[0]).encode(),)

    def write_typed(self, events: Iterable[Document], flaw: str) -> tuple[bytes, ...]:
        """Return the body of a stream whose events say their type."""
        written = self.change(list(events), flaw)
        return self.break_events(tuple(event_bytes(event, event["type"]) for event in written), flaw)


def end_with(event: bytes) -> EventsChange:
    """Return the change that ends a stream with this event, in the middle."""
    return lambda parts: (*parts[: len(parts) // 2], event)


def without_fields(*names: str) -> DocumentsChange:
    """Return the change that leaves fields out of all documents."""
    return lambda documents: [{key: each[key] for key in each if key not in names} for each in documents]


def without_events(*types: str) -> DocumentsChange:
    """Return the change that leaves events of these types out."""
    return lambda documents: [each for each in documents if each.get("type") not in types]
