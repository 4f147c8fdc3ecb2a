"""Scripts of models: turns, the requests that ask for them, their responses in bytes, and the lines of a script."""

from __future__ import annotations

import hashlib
import inspect
import json
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from trialbed.errors import UsageError
from trialbed.wire import Call, ModelAnswer, ModelRequest, TokenLogprob, usage_counts
from trialbed.wire.dialects import CHAT, Dialect, dialect

if TYPE_CHECKING:
    from trialbed.records import FilledArgument, LostCall, Usage


USAGE: Mapping[str, Any] = MappingProxyType(usage_counts(11, 3))
"""The default usage of a turn, in tokens."""


@dataclass(frozen=True)
class ModelTurn:
    """One message of a model, with a text, calls, or both.

    Attributes:
        finish_reason: empty for the usual reason of such a message; None leaves the answer unfinished.
        usage: the reported usage, if any.
        reasoning: the text that reasoning models send before the answer.
        refusal: the model's text to refuse the request.
        logprobs: the log probabilities of the text's tokens, if reported.
        fields: further fields of the message, such as vendors add.
        id: the answer's id; empty to use the request's number.
        instead: the text that a fault sends instead of the calls.
        played: the positions of its calls in a policy's script, whether right or spoiled.
        lost: the earlier calls of a policy that cannot be made.
        filled: the arguments that had to be made up for a policy's calls.
    """

    text: str | None = None
    calls: tuple[Call, ...] = ()
    finish_reason: str | None = ""
    usage: Mapping[str, Any] | None = None
    reasoning: str = ""
    refusal: str = ""
    logprobs: tuple[TokenLogprob, ...] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    instead: str = ""
    played: tuple[int, ...] = ()
    lost: tuple[LostCall, ...] = ()
    filled: tuple[FilledArgument, ...] = ()

    def answer(self, *, call_id: Callable[[int], str] | None = None, **more: Any) -> ModelAnswer:
        """Return the turn as an answer.

        Args:
            call_id: returns an id for a call without one, by its position; the dialect's ids by default.
            more: further attributes of the answer.
        """
        usual = "tool_calls" if self.calls else "stop"
        calls = self.calls
        if call_id is not None:
            calls = tuple(replace(call, id=call.id or call_id(place)) for place, call in enumerate(calls))
        return ModelAnswer(
            content=self.text,
            calls=calls,
            finish_reason=self.finish_reason if self.finish_reason != "" else usual,
            usage=None if self.usage is None else dict(self.usage),
            reasoning=self.reasoning,
            refusal=self.refusal,
            logprobs=self.logprobs,
            **{"fields": self.fields, **more},
        )


def ask(
    *calls: Call, text: str | None = None, usage: Usage | Mapping[str, Any] | None = USAGE, **more: Any
) -> ModelTurn:
    """Return a turn that makes these calls, with an optional text.

    Args:
        usage: the reported tokens; None reports nothing.
        more: further attributes of the turn.
    """
    if usage is not None and not isinstance(usage, Mapping):
        usage = usage_counts(usage.prompt_tokens, usage.completion_tokens)
    return ModelTurn(text, calls, usage=usage, **more)


def say(text: str | None, *, usage: Usage | Mapping[str, Any] | None = USAGE, **more: Any) -> ModelTurn:
    """Return a turn with a text."""
    return ask(text=text, usage=usage, **more)


def call(name: str, arguments: Mapping[str, Any] | str | None = None, id: str = "", /, **named: Any) -> Call:  # noqa: A002
    """Return a call with these arguments, given as a mapping or by name. A text is sent unchanged.

    Args:
        id: the call's id. By default, one is made up.
    """
    if isinstance(arguments, str):
        return Call(name, arguments, id)
    return Call(name, json.dumps({**(arguments or {}), **named}, ensure_ascii=False), id)


@dataclass(frozen=True)
class ReceivedRequest:
    """A request to a model.

    Attributes:
        number: its position on the server, from 0.
        document: the JSON object that was sent.
        body: the raw bytes of the document.
        headers: names in lower case.
        attempt: the number of earlier requests with the same body.
        repeats: whether the last request with the same body met a fault.
        dialect: the name of its dialect.
        problem: the reason its body is not a JSON object; empty if it is one.
        place: the fault of the atlas that its path names before ``/v1``.
    """

    number: int
    document: Mapping[str, Any]
    body: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    attempt: int = 0
    repeats: bool = False
    dialect: str = CHAT
    problem: str = ""
    place: str = ""

    @property
    def spoken(self) -> Dialect:
        """The dialect object."""
        return dialect(self.dialect)

    def draw(self, what: bytes, seed: int) -> random.Random:
        """Return a random generator for a decision. It depends only on the seed, the body and the attempt."""
        digest = hashlib.sha256(b"%s %d %d " % (what, seed, self.attempt) + self.body).digest()
        return random.Random(digest)  # noqa: S311 - has to be reproducible

    @cached_property
    def asked(self) -> ModelRequest:
        """The parsed request, with its conversation and tools."""
        return self.spoken.read_request(self.document)


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
        raise UsageError(f"fail: {status!r:.60} is not an HTTP status; give a number such as 429 or 500")
    message = message or f"the model refuses with {status}"
    document = (spoken or dialect()).write_error(message, kind, code=code or str(status))
    return Response.document(document, status, {"Retry-After": f"{retry_after:g}"} if retry_after else None)


AFTER_THE_END = "The script has ended."
"""The model's text after the last line of its script."""

FORMS = "a line is a text, call(…), ask(…), say(…), fail(…), a Response, or a function that returns one of these"

Said = ModelTurn | Response

Sayable = str | Call | Said
"""A text, a call, a turn with several calls, or a response."""

Model = Callable[[ReceivedRequest], Sayable | Awaitable[Sayable]]
"""Answers a request. Scripts, policies and functions are models."""


@dataclass(frozen=True)
class Forever:
    """A line that is repeated for every further request."""

    line: Said


Line = Sayable | Forever | Callable[[Any], Sayable | Awaitable[Sayable]]
"""One line of a script, or a function that makes it."""


class Script:
    """A model that says its lines in order, one for each request."""

    def __init__(self, *lines: Line) -> None:
        self._lines = [line if isinstance(line, Forever) or callable(line) else read_line(line) for line in lines]
        if any(isinstance(line, Forever) for line in self._lines[:-1]):
            raise UsageError("no line of a script is reached after forever(…): it is the last")
        self._next = 0
        self._given: dict[int, int] = {}

    async def __call__(self, request: Any) -> Said:
        """Return the next line. A request that is sent again after a fault gets its line again.

        Raises:
            UsageError: the model of ``trialbed.evaluate`` has no lines left, or its line fails a request.
        """
        place = self._next
        if isinstance(request, ReceivedRequest):
            body = hash(request.body)
            place = self._given.get(body, place) if request.repeats else place
            self._given[body] = place
        if place >= len(self._lines):
            if isinstance(request, ModelRequest):
                raise UsageError(f"the script has no further turn: it has {len(self._lines)} for all trials")
            return say(AFTER_THE_END)
        line = self._lines[place]
        if isinstance(line, Response) and isinstance(request, ModelRequest):
            raise UsageError("a script that fails a request needs a server: trialbed_scripted.serve")
        if isinstance(line, Forever):
            return line.line
        self._next = max(self._next, place + 1)
        return line if isinstance(line, ModelTurn | Response) else await ask_model(line, request)


def script(*lines: Line) -> Script:
    """Return a model that says these lines: ``script(call("find", id=7), say("done"))``.

    Raises:
        UsageError: an argument is not a line, or follows a repeated line.
    """
    return Script(*lines)


def forever(line: Sayable) -> Forever:
    """Repeat a line for every request from here on.

    Raises:
        UsageError: the argument is a function, or not a line.
    """
    return Forever(read_line(line))


def read_line(line: Sayable) -> Said:
    """Turn a text or a call into a turn. Turns and responses stay unchanged.

    Raises:
        UsageError: it is something else.
    """
    if isinstance(line, str):
        return say(line)
    if not isinstance(line, Call | ModelTurn | Response):
        raise UsageError(f"{line!r:.60} is not a line of a script; {FORMS}")
    return ask(line) if isinstance(line, Call) else line


async def ask_model(model: Callable[[Any], Sayable | Awaitable[Sayable]], request: Any) -> Said:
    """Ask a model, which may be asynchronous.

    Raises:
        UsageError: it returns something other than a line.
    """
    found = model(request)
    found = await found if inspect.isawaitable(found) else found
    try:
        return read_line(found)
    except UsageError as error:
        name = getattr(model, "__name__", type(model).__name__)
        raise UsageError(f"{name}() of the script returned no line: {error}") from None
