"""Responses to requests, down to the bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from trialbed.errors import UsageError
from trialbed.wire import ModelAnswer, ModelRequest
from trialbed.wire.dialects import Dialect, dialect

JSON = "application/json"
EVENTS = "text/event-stream"

Ending = Literal["complete", "close", "reset", "never"]


@dataclass(frozen=True)
class Response:
    """The bytes that a server sends for a request, and the end of the connection.

    Attributes:
        parts: the body, in the pieces to send.
        sized: whether the head contains the length of the body.
        bare: sends the parts alone, without an HTTP head.
        ending: ``close`` and ``reset`` drop the connection after the parts; ``never`` sends nothing and keeps it open.
        wait: seconds before anything is sent.
        first: seconds between the first part and the second.
        gap: seconds before each further part.
    """

    parts: tuple[bytes, ...] = ()
    status: int = 200
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    sized: bool = True
    bare: bool = False
    ending: Ending = "complete"
    wait: float = 0.0
    first: float = 0.0
    gap: float = 0.0

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.parts)

    @classmethod
    def document(cls, document: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
        """Return a JSON response."""
        return cls((json.dumps(document).encode(),), status, headers=headers or {})

    @classmethod
    def text(cls, text: str, content_type: str = JSON, status: int = 200) -> Response:
        """Return a response with a text as its body."""
        return cls((text.encode(),) if text else (), status, content_type)

    @classmethod
    def answer(
        cls,
        answer: ModelAnswer,
        request: ModelRequest,
        spoken: Dialect | None = None,
        *,
        piece: int | None = 8,
    ) -> Response:
        """Return an answer in the form the request asks for, whole or as a stream of events.

        Args:
            spoken: the dialect of the request; chat completions by default.
            piece: characters of text or arguments in one event; None sends them whole.
        """
        parts = (spoken or dialect()).write_answer(answer, request, piece=piece)
        return cls(parts, content_type=EVENTS, sized=False) if request.stream else cls(parts)

    @classmethod
    def raw(cls, data: bytes) -> Response:
        """Return raw bytes for the socket, including any head. The connection is closed after them."""
        return cls((data,), bare=True, ending="close")


def fail(
    status: int,
    message: str = "",
    kind: str = "scripted_error",
    *,
    retry_after: float = 0,
    code: str | None = None,
    spoken: Dialect | None = None,
) -> Response:
    """Return an error in the form of a dialect.

    Args:
        kind: the error's ``type``.
        retry_after: seconds for a ``Retry-After`` header; none is sent by default.
        code: the error's code; the status by default.
        spoken: the dialect; chat completions by default.

    Raises:
        UsageError: the status is not an HTTP status.
    """
    if not isinstance(status, int) or not 100 <= status <= 599:
        raise UsageError(f"fail: {status!r:.60} is no status of HTTP; give a number such as 429 or 500")
    message = message or f"the model refuses with {status}"
    document = (spoken or dialect()).write_error(message, kind, code=code or str(status))
    return Response.document(document, status, {"Retry-After": f"{retry_after:g}"} if retry_after else None)
