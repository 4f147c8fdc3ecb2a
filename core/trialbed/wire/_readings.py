"""The outcomes of an exchange, and the reading of its response, as it comes or as the wire log keeps it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from trialbed.wire._exchange import Document, ModelAnswer, ModelRequest
from trialbed.wire._json import parse_json
from trialbed.wire.dialects import CHAT, dialect

if TYPE_CHECKING:
    from trialbed.records import ModelCall

Outcome = Literal["tool_calls", "stop", "other", "protocol_error", "transport_error", "timeout"]
"""The terminal outcomes; every exchange ends in exactly one.

``tool_calls``, ``stop`` and ``other`` are complete answers, by their finish reason. ``protocol_error`` is an
answer that breaks the protocol, ``transport_error`` a failed connection or an HTTP status that is not a success,
``timeout`` an answer that did not arrive in time.
"""

ANSWERED: frozenset[Outcome] = frozenset(("tool_calls", "stop", "other"))
"""The outcomes that are answers; the rest are failures."""


OUTCOMES: dict[str, Outcome] = {"tool_calls": "tool_calls", "function_call": "tool_calls", "stop": "stop"}
"""Finish reason -> the outcome; ``function_call`` is the old name of a call."""

NO_ANSWER = ModelAnswer(created=0, finish_reason=None)


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with its kind, from a fixed list (``cut_stream``, ``http_429``), and the details in words.

    Attributes:
        code: the code of the error that a body reports, unchanged; may be None.
    """

    kind: str
    message: str
    code: Any = None

    def as_json(self) -> dict[str, str]:
        """For the results file."""
        return {"kind": self.kind, "message": self.message}


@dataclass(frozen=True, slots=True)
class Reading:
    """The reading of one response.

    Attributes:
        response: the document, whole or assembled from the received part of its stream; None without any.
        finish_reason: of the first choice.
        first_token: when the first token with content, arguments or reasoning came, on the caller's clock.
        notes: peculiarities that are not failures, such as calls delivered with another finish reason.
        excerpts: note -> the bytes of an example, if they say more than the response.
        answer: the received part of the answer.
    """

    outcome: Outcome
    finish_reason: str | None = None
    response: dict[str, Any] | None = None
    problem: Problem | None = None
    first_token: float | None = None
    notes: tuple[str, ...] = field(default=())
    excerpts: Mapping[str, str] = field(default_factory=dict)
    answer: ModelAnswer = NO_ANSWER


def failed(kind: str, message: str, outcome: Outcome = "protocol_error") -> Reading:
    """Return the reading of a response that is not an answer."""
    return Reading(outcome, problem=Problem(kind, message))


SHOWN = 300
"""Bytes of a broken body that its message shows."""

JSON_TYPE = re.compile(r"application/(?:[\w.-]+\+)?json\b")


def reading_of(
    document: Document, answer: ModelAnswer, problem: Problem | None, notes: Mapping[str, str], **own: Any
) -> Reading:
    """Return the reading of a document, which is an answer unless it has a problem.

    Args:
        notes: peculiarity -> the bytes of an example.
        own: further fields of the reading.
    """
    reason = answer.finish_reason
    is_broken = problem is not None or reason is None
    outcome: Outcome = "protocol_error" if is_broken else OUTCOMES.get(reason or "", "other")
    # In an order that does not depend on how the network cut a stream.
    names = tuple(sorted(notes))
    return Reading(outcome, reason, document, problem, notes=names, excerpts=dict(notes), answer=answer, **own)


def read_document(
    read_answer: Callable[[Document], ModelAnswer],
    problem_of: Callable[[Document], Problem | None],
    body: bytes,
    content_type: str = "application/json",
) -> Reading:
    """Read an answer that was not streamed; its document is kept unchanged, with unknown fields.

    Args:
        read_answer: reads the answer in a document of its dialect.
        problem_of: returns why the document is not an answer of the dialect.
        body: of a response with an HTTP status of 2xx.
        content_type: of the response, in lower case.
    """
    if is_html(body, content_type):
        return failed("html", f"the body is HTML: {excerpt(body)}")
    if not body.strip():
        return failed("empty_body", "the body is empty")
    try:
        document = parse_json(body)
    except ValueError as error:
        return failed("malformed_body", f"the body is not JSON ({error}): {excerpt(body)}")
    if not isinstance(document, dict):
        return failed("malformed_body", f"the body is not a JSON object: {excerpt(body)}")
    problem = problem_of(document)
    if problem is not None:
        problem = replace(problem, message=f"{problem.message}: {excerpt(body)}")
    return reading_of(document, read_answer(document), problem, oddities(body, content_type))


def read_error(body: str) -> str:
    """Return the message of an error response, or the body if it has no message."""
    try:
        error = json.loads(body)["error"]
        return str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, LookupError, TypeError, RecursionError):
        return body


def is_html(body: bytes, content_type: str) -> bool:
    """Return whether a body is a web page; an object that is only called one is not."""
    first = body.lstrip()[:1]
    return first == b"<" or (content_type.startswith("text/html") and first != b"{")


def oddities(body: bytes, content_type: str) -> dict[str, str]:
    """Return peculiarities of a body's bytes, each with an excerpt."""
    found: dict[str, str] = {}
    encoding = json.detect_encoding(body)
    if encoding == "utf-8-sig":
        found["byte_order_mark"] = r"\xef\xbb\xbf"
    elif encoding != "utf-8":
        found["body_not_utf8"] = repr(body[:40])
    if not JSON_TYPE.match(content_type):
        found["content_type_wrong"] = content_type or "no content type"
    return found


def excerpt(body: bytes) -> str:
    """Return the beginning of a body or an event, for a message about it."""
    return body[:SHOWN].decode("utf-8", "replace")


SHORT = 100_000
"""Characters of a body that is read once for all that look at its trial."""


def recorded_request(call: ModelCall) -> ModelRequest | None:
    """Return the request of a call, or None if its logged body is not a JSON object.

    All calls with the same body share it; do not change it.
    """
    read = _read_request if len(call.request) <= SHORT else _read_request.__wrapped__
    return read(call.request, call.dialect or CHAT)


@lru_cache(maxsize=64)
def _read_request(body: str, spoken: str) -> ModelRequest | None:
    try:
        document = parse_json(body if body.isascii() else body.encode(errors="replace"))
    except ValueError:
        return None
    return dialect(spoken).read_request(document) if isinstance(document, Mapping) else None


def recorded_answer(call: ModelCall) -> Reading:
    """Return the answer of a call, from the part that the log keeps."""
    read = _read_short if len(call.response) <= SHORT else read_response
    return read(call.dialect or CHAT, call.response, stream=call.stream and call.status == 200)


def read_response(spoken: str, body: bytes | str, names: Collection[str] = (), *, stream: bool) -> Reading:
    """Read the received body of a response with a status of success.

    Args:
        spoken: the name of its dialect.
        body: a text as the log keeps it, or bytes.
        names: the names of the tools on offer.
        stream: whether it is a stream of events instead of a document.
    """
    if isinstance(body, str):
        body = body.encode(errors="replace")
    if not stream:
        return dialect(spoken).read_body(body)
    reader = dialect(spoken).open_stream(names)
    reader.feed(body)
    return reader.end()


_read_short = lru_cache(maxsize=64)(read_response)


def read_served(spoken: str, body: bytes, request: ModelRequest, *, stream: bool) -> Reading:
    """Read a served answer. Some endpoints answer a request for a stream with a document."""
    return read_response(spoken, body, request.names, stream=stream and not body.lstrip().startswith(b"{"))


def recorded_error(call: ModelCall) -> str:
    """Return the message of a call's error response."""
    return dialect(call.dialect or CHAT).read_error(call.response)
