"""The dialects of model APIs by name and by path. Each is a module with a reader and a writer.

A new dialect is a module here with the names of ``Dialect``, and a line in ``PATHS``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from trialbed.wire._exchange import Document, ModelAnswer, ModelMessage, ModelRequest, OfferedTool, TextKind
    from trialbed.wire._readings import Reading
    from trialbed.wire.dialects._streams import AnswerWriter

CHAT = "chat_completions"

PATHS = {"chat/completions": CHAT, "messages": "messages", "responses": "responses"}
"""Path of requests -> the name of the dialect and of its module."""

COUNTS = {"messages/count_tokens": "messages"}
"""Path of requests that ask for the number of tokens of another one -> its dialect."""


class EventStream(Protocol):
    """Reads one streamed answer from bytes that may be cut anywhere.

    Attributes:
        pieces: pieces of text with their kinds since the list was last emptied; None does not collect them.
    """

    first_token: float | None
    pieces: list[tuple[TextKind, str]] | None

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
        """Return the reading at the end of the body; ``cut`` says why it ended early, if it did."""


class Dialect(Protocol):
    """The module of a dialect.

    Attributes:
        NAME: of the dialect.
        PATH: of its requests, below the ``/v1`` of an endpoint.
        HEADERS: that its requests need.
    """

    NAME: str
    PATH: str
    HEADERS: Mapping[str, str]

    def read_request(self, document: Mapping[str, Any], problem: str = "") -> ModelRequest:
        """Read a request; ``problem`` says why its body is not a JSON object."""

    def write_request(
        self,
        model: str,
        messages: Sequence[ModelMessage],
        settings: Mapping[str, Any],
        tools: Sequence[OfferedTool] = (),
    ) -> Document:
        """Return a request.

        Args:
            settings: ``temperature``, ``seed``, ``max_tokens``, and further fields by the dialect's own names.
        """

    def write_settings(self, request: ModelRequest) -> Document:
        """Return the further fields of a request of any dialect in the terms of this one.

        Raises:
            ValueError: a field has no counterpart; says which.
        """

    def reply_formats(self, schema: Mapping[str, Any]) -> Sequence[Document]:
        """Return the settings that ask for a reply of this JSON Schema, the strictest first."""

    def read_answer(self, document: Document | None) -> ModelAnswer:
        """Read the answer in a document; without a message its ``source`` is None."""

    def read_body(self, body: bytes, content_type: str = "application/json") -> Reading:
        """Read an answer that was not streamed."""

    def open_stream(self, names: Collection[str]) -> EventStream:
        """Return a reader of a streamed answer to a request that offers tools with these names."""

    def read_error(self, body: str) -> str:
        """Return the message of an error response, or the body if it has no message."""

    def write_message(self, answer: ModelAnswer) -> Document:
        """Return the part of an answer that the model writes, with its text and its calls."""

    def write_answer(self, answer: ModelAnswer, request: ModelRequest, *, piece: int | None = 8) -> tuple[bytes, ...]:
        """Return the body of the response, a JSON document or the events of a stream, whichever the request asks for.

        Args:
            piece: characters of text or arguments in one event; None sends them whole.
        """

    def open_writer(self, head: ModelAnswer, request: ModelRequest) -> AnswerWriter:
        """Return a writer of a streamed answer that becomes known piece by piece.

        Args:
            head: the id, the model and the time of the answer, and the usage at the beginning of its stream.
        """

    def write_error(self, message: str, kind: str, *, code: str | None = None) -> Document:
        """Return an error for the dialect's clients; ``kind`` is its type, such as ``invalid_request_error``."""


@cache
def dialect(name: str = CHAT) -> Dialect:
    """Return the dialect of this name; its module is imported on first use.

    Raises:
        LookupError: there is no such dialect.
    """
    if name not in PATHS.values():
        raise LookupError(f"there is no dialect {name!r}; there are {', '.join(sorted(PATHS.values()))}")
    found: Dialect = import_module(f"trialbed.wire.dialects.{name}")
    return found


def dialect_at(path: str) -> Dialect | None:
    """Return the dialect of requests to a path below ``/v1``, or None if no dialect has the path."""
    name = PATHS.get(path) or COUNTS.get(path)
    return None if name is None else dialect(name)
