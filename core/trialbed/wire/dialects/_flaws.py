"""Ways in which vendors break a protocol, as tables of each dialect."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trialbed.wire._events import event_bytes
from trialbed.wire._exchange import Document, ModelRequest

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


def end_with(event: bytes) -> EventsChange:
    """Return the change that ends a stream with this event, in the middle."""
    return lambda parts: (*parts[: len(parts) // 2], event)


def write_typed(
    flaws: Flaws,
    flaw: str,
    request: ModelRequest,
    *,
    document: Callable[[], Document],
    events: Callable[[], list[Document]],
) -> tuple[bytes, ...]:
    """Return the body of a response in a dialect whose events say their type.

    Args:
        document: writes the answer to a request that does not stream.
        events: writes those of a stream.
    """
    if not request.stream:
        return (json.dumps(flaws.change([document()], flaw)[0]).encode(),)
    written = flaws.change(events(), flaw)
    return flaws.break_events(tuple(event_bytes(event, event["type"]) for event in written), flaw)
