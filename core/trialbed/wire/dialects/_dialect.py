"""The names that the module of a dialect has."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

from trialbed.wire._exchange import Document, ModelAnswer, ModelRequest
from trialbed.wire._readings import Reading


class EventStream(Protocol):
    """Reads one streamed answer from bytes that may be cut anywhere."""

    first_token: float | None

    @property
    def over(self) -> bool:
        """Return whether the rest of the stream can change nothing."""

    def feed(self, chunk: bytes, now: float = 0.0) -> None:
        """Take a part of the body, which arrived at ``now`` on the caller's clock."""

    def refuse(self, kind: str, message: str) -> None:
        """Stop reading, for a reason that the stream itself does not show."""

    def note(self, kind: str) -> None:
        """Note a peculiarity that the stream itself does not show."""

    def end(self, now: float = 0.0, cut: str | None = None) -> Reading:
        """Return the reading, once the body has ended; ``cut``: why it ended early, if it did."""


class Dialect(Protocol):
    """The module of a dialect.

    Attributes:
        NAME: of the dialect.
        PATH: of its requests, below the ``/v1`` of an endpoint.
    """

    NAME: str
    PATH: str

    def read_request(self, document: Mapping[str, Any], problem: str = "") -> ModelRequest:
        """Read a request; ``problem``: why its body is not a JSON object."""

    def write_request(self, model: str, messages: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> Document:
        """Return a request.

        Args:
            messages: each with a ``role`` and a ``content``.
            settings: further fields, by the dialect's own names.
        """

    def reply_formats(self, schema: Mapping[str, Any]) -> Sequence[Document]:
        """Return the settings that ask for a reply of this JSON Schema, the strictest first."""

    def read_answer(self, document: Document | None) -> ModelAnswer:
        """Read an answer from its document, as far as it is one; without a message its ``source`` is None."""

    def read_body(self, body: bytes, content_type: str = "application/json") -> Reading:
        """Read an answer that was not streamed."""

    def open_stream(self, names: Collection[str]) -> EventStream:
        """Return a reader of a streamed answer to a request that offers tools with these names."""

    def write_document(self, answer: ModelAnswer) -> Document:
        """Return the answer to a request that does not stream."""

    def write_events(self, answer: ModelAnswer, *, piece: int | None = 8, with_usage: bool = True) -> Iterator[bytes]:
        """Yield the answer as the events of a stream, the last one included.

        Args:
            piece: characters of text or arguments in one event; None sends them whole.
            with_usage: whether the usage, where it is reported, comes with them.
        """

    def write_error(self, message: str, kind: str, *, code: str | None = None, param: str | None = None) -> Document:
        """Return an error as the dialect's clients read it; ``kind``: its type, such as ``invalid_request_error``."""
