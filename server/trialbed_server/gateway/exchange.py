"""The record of and the response to a request to the gateway."""

from __future__ import annotations

import asyncio
import json
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, cast

from starlette.types import Receive, Send

from trialbed.contracts import ServedAnswer
from trialbed.records import Attempt, Cause, LimitName, ModelCall, SentCall, ToolSpec, Usage
from trialbed.texts import whole_text
from trialbed.wire import Call, OfferedTool, Reading, lenient_json, parse_object, read_response, written_calls
from trialbed.wire.dialects import CHAT, Dialect, dialect
from trialbed.wire.estimates import BYTES_PER_TOKEN, Span
from trialbed.wire.offers import Offers
from trialbed.wire_log import estimated_usage
from trialbed_scripted import Response
from trialbed_server._http import aiohttp
from trialbed_server.gateway.circuit import cause_of_problem
from trialbed_server.trials import LogBudget


class Observation(NamedTuple):
    """The facts found in one response.

    Attributes:
        problem: why it is not an answer, in words; None for an answer.
        cause: the cause, if that is the endpoint or the request.
        document: the response, or its beginning if it was cut.
    """

    usage: Usage | None = None
    finish_reason: str | None = None
    tool_calls: tuple[SentCall, ...] = ()
    text_calls: tuple[SentCall, ...] = ()
    problem: str | None = None
    cause: Cause | None = None
    document: Mapping[str, Any] | None = None


def observe(
    dialect: Dialect, body: bytes, offered: Collection[str], *, stream: bool, described: Mapping[str, Any] | None = None
) -> Observation:
    """Read a response body, whole or cut; it is a document or a stream of server-sent events.

    Args:
        offered: the names of the tools that the request offers.
        described: name -> schema, of these tools and of tools that a prompt may describe instead: the model may write
            a call of any of them in its text.
    """
    reading = read_response(dialect.NAME, body, offered, stream=stream)
    answer = reading.answer
    written = [Call(call.name, call.arguments) for call in written_calls("\n".join(answer.texts), described or {})]
    # Some vendors send a call and leave its text in the answer.
    sent = [(call.name, _value(call)) for call in answer.calls]
    return Observation(
        usage=Usage.of(answer.usage or {}),
        finish_reason=whole_text(reading.finish_reason or "") or None,
        tool_calls=tuple(_sent_call(call, offered) for call in answer.calls),
        text_calls=tuple(_sent_call(call, {call.name}) for call in written if (call.name, _value(call)) not in sent),
        problem=whole_text(reading.problem.message) if reading.problem else None,
        cause=_cause(reading, body),
        document=reading.response,
    )


def _value(call: Call) -> Any:
    return lenient_json(call.arguments, call.arguments)


def _cause(reading: Reading, body: bytes) -> Cause | None:
    if reading.problem is None:
        return None
    if reading.problem.kind == "malformed_body" and not _is_readable(body):
        return "endpoint"
    return cause_of_problem(reading.problem.kind, reading.problem.code)


def _is_readable(body: bytes) -> bool:
    """Return whether lenient clients read a body as JSON, such as one with NaN."""
    try:
        json.loads(body)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def _sent_call(call: Call, offered: Collection[str]) -> SentCall:
    return SentCall(name=whole_text(call.name), arguments=whole_text(call.arguments), problem=_problem(call, offered))


def _problem(call: Call, offered: Collection[str]) -> str | None:
    if call.name not in offered:
        return "unknown tool"
    value = _value(call)
    if value is call.arguments:
        return "invalid json"
    return None if isinstance(value, dict) else "not an object"


READ_LIMIT = 32 * 2**20
"""Bytes of a response that are read for usage and tool calls; what follows is only counted."""

LONGEST_NAME = 200
"""Characters of a model's name that the log keeps."""

EVENT = b"data:"
"""Begins an event of a stream; most servers send one for each token."""

GONE = "the framework closed the connection before the answer was complete"
SILENT = "the endpoint had not answered when the connection was closed"


@dataclass(eq=False)
class RecordedExchange:
    """Watches one request from arrival to end; in flight until ``end``.

    Attributes:
        clock: the trial's: seconds since it was opened.
        budget: bounds the bytes that the log keeps.
        body: the request's, without secrets.
        tools: the trial's.
        spoken: the dialect of the request; chat completions by default.
        beside: whether it does not ask a model; then nothing of it is read or kept for the log.
        step: whether it counts towards the trial's limit of requests to the model.
        cause: of its failure; None if it has not failed.
        limit: the trial's limit that it exceeds and is refused for, or None.
        fault: the injected fault; empty without one.
        slowed: seconds that a fault delayed it.
        other_model: the model that it names, if it is not the trial's, or empty.
        provoked: whether the endpoint, which refused it, answers plain requests.
        added: the names of its headers and query parameters that no usual client sends.
        translated: the endpoint's dialect, if it differs from the request's, or empty.
        recorded: seconds that the model took when its answer was recorded; None for an answer of now.
        document: the response in its answer, between the ends of the answer and the connection.
        dialect: of the request and its answer.
        request: the request; it is given up at the end.
    """

    clock: Callable[[], float]
    budget: LogBudget
    body: bytes
    tools: Sequence[ToolSpec] = ()
    spoken: InitVar[Dialect | None] = None
    beside: bool = False
    step: bool = False
    cause: Cause | None = None
    limit: LimitName | None = None
    fault: str = ""
    slowed: float = 0.0
    other_model: str = ""
    provoked: bool = False
    added: tuple[str, ...] = ()
    translated: str = ""
    recorded: float | None = None
    document: Mapping[str, Any] | None = None
    status: int = 0
    done: bool = False
    _first_byte: float | None = None
    _events: bool = False
    _pieces: int = 0
    _response: bytearray = field(default_factory=bytearray)
    _length: int = 0
    _error: str | None = None
    _ended: ModelCall | None = None
    _attempts: list[Attempt] = field(default_factory=list)
    _attempted: float = 0.0
    _waits: bool = False
    _waited: float = 0.0
    _silent: Callable[[], bool] = bool

    def __post_init__(self, spoken: Dialect | None) -> None:
        self.dialect = spoken or dialect()
        self.request = self.dialect.read_request(*parse_object(self.body))
        self.stream = self.request.stream
        self._started = self.clock()

    @property
    def answer(self) -> bytes:
        """The body of the answer so far."""
        return bytes(self._response)

    def waits(self) -> None:
        """The request waits until it may be sent, or sent again."""
        self._waits = True

    @contextmanager
    def held(self) -> Iterator[None]:
        """Enter this while the request waits for another one, after which it may not be sent."""
        self._waits = True
        try:
            yield
        finally:
            self._waits_no_longer()

    def attempt_began(self, silent: Callable[[], bool]) -> None:
        """The request is sent to the model's endpoint.

        Args:
            silent: returns whether the endpoint has answered no request since, for longer than is usual.
        """
        self._attempted, self._silent = self.clock(), silent
        self._waits_no_longer()

    def attempt_failed(self, status: int, error: str, wait: float) -> None:
        """The endpoint did not answer; the request is sent again after a wait."""
        began, duration = self._attempted, self.clock() - self._attempted
        self._attempts.append(Attempt(started=began, duration=duration, status=status, error=error, wait=wait))
        self._waits = True

    def began(self, status: int, *, events: bool) -> None:
        """The answer's head was sent; ``events`` says whether its body is a stream of server-sent events."""
        self.status = status
        self._events = events

    def wrote(self, chunk: bytes) -> None:
        """A part of the answer's body was sent."""
        if self._first_byte is None:
            self._first_byte = self.clock() - self._started
        self._length += len(chunk)
        self._pieces += chunk.count(EVENT)
        self._response += chunk[: READ_LIMIT - len(self._response)]

    def failed(self, error: str, cause: Cause) -> None:
        """Note an error and its cause."""
        self._error, self.cause = error, cause

    def left(self) -> None:
        """The framework went away first."""
        self.cause = self.cause or self._cause_in_flight() or "gone"
        self._error = self._error or (SILENT if self.cause == "endpoint" else GONE)
        self.status = 0

    def end(self) -> None:
        """Nothing more will happen."""
        self.document = None
        if self._ended is None:
            self._ended = self.record()
            self.cause = self._ended.cause
            self._response, self.body = bytearray(), b""
            self.request = self.dialect.read_request({})
            for name in ("_offers", "_functions"):
                self.__dict__.pop(name, None)

    def whole_answer(self) -> ServedAnswer | None:
        """End, and return the answer in the bytes sent; None without a complete answer."""
        body = bytes(self._response)
        self.end()
        call = self.record()
        whole = self.done and call.response_bytes == len(body)
        if not whole or call.status != 200 or call.cause is not None:
            return None
        # The wait for a turn also began with the request, and includes the seconds of the fault.
        return ServedAnswer(body, stream=self.stream, duration=call.duration - max(call.waited, self.slowed))

    def record(self) -> ModelCall:
        """Return the record so far; the status is 0 while there is no answer."""
        if self._ended is not None:
            return self._ended
        seen, now = self._observation(), self.clock()
        self.document = seen.document
        cause = self.cause or (seen.cause if self.done else self._cause_in_flight())
        if self.fault and self.done:
            cause = None
        return ModelCall(
            started=self._started,
            duration=now - self._started,
            first_token=self._first_byte,
            status=self.status,
            stream=self.stream,
            request=self._text_for_log(self.body),
            response=self._text_for_log(bytes(self._response)),
            request_bytes=len(self.body),
            response_bytes=self._length,
            usage=seen.usage,
            finish_reason=seen.finish_reason,
            tool_calls=tuple(map(self._with_tool, seen.tool_calls)),
            text_calls=tuple(map(self._with_tool, seen.text_calls)),
            error=self._error or (seen.problem if cause or self.fault else None),
            cause=cause,
            limit=self.limit,
            fault=self.fault,
            other_model=self.other_model[:LONGEST_NAME],
            provoked=self.provoked,
            recorded=self.recorded,
            translated=self.translated,
            added=self.added,
            dialect="" if self.dialect.NAME == CHAT else self.dialect.NAME,
            attempts=tuple(self._attempts),
            waited=self._waited_until(now, cause),
        )

    def used(self) -> Usage | None:
        """Return the tokens so far, like ``estimated_usage`` of the record but without taking space in the log."""
        if self._ended is not None:
            return estimated_usage(self._ended)
        seen = self._observation()
        if seen.usage is not None or self.cause or seen.cause:
            return seen.usage
        written = self._pieces if self._events else self._length // BYTES_PER_TOKEN
        return Usage(prompt_tokens=len(self.body) // BYTES_PER_TOKEN, completion_tokens=written)

    def waiting(self) -> Span:
        """Return the span of repetitions after failures, including waits."""
        if self._ended is not None:
            return self._started, self._started + self._ended.waited
        return self._started, self._started + self._waited_until(self.clock(), self.cause)

    def _waited_until(self, now: float, cause: Cause | None) -> float:
        """Return the seconds of failed attempts and waits: all of them, if the endpoint never answered."""
        return now - self._started if self._waits or cause == "endpoint" else self._waited

    def _waits_no_longer(self) -> None:
        if self._waits:
            self._waits, self._waited = False, self.clock() - self._started

    def _cause_in_flight(self) -> Cause | None:
        """Return the cause if nothing more arrives: a silent endpoint or a framework that left.

        None once an answer has begun, which is then recorded in its present state.
        """
        if self.status or self.cause:
            return self.cause
        return "endpoint" if self._waits or self._silent() else "gone"

    def _text_for_log(self, body: bytes) -> str:
        return "" if self.beside else self.budget.keep(body.decode("utf-8", "replace"))

    def _observation(self) -> Observation:
        if self.beside:
            return Observation()
        tools: tuple[OfferedTool | ToolSpec, ...] = (*self._functions, *self.tools)
        schemas = {tool.name: tool.parameters for tool in tools}
        return observe(self.dialect, bytes(self._response), self.request.names, stream=self._events, described=schemas)

    def _with_tool(self, call: SentCall) -> SentCall:
        """Return the call with the trial's tool that it means, if the framework offered that under another name."""
        if not self.tools or call.problem == "unknown tool" or any(call.name == tool.name for tool in self.tools):
            return call
        return call.model_copy(update={"tool": self._offers.tool(call.name) or ""})

    @cached_property
    def _offers(self) -> Offers:
        return Offers(self.tools, self._functions)

    @cached_property
    def _functions(self) -> tuple[OfferedTool, ...]:
        """The tools that the request offers; if it offers none, the trial's, as a prompt names them for programs."""
        if self.request.tools:
            return tuple(self.request.tools)
        return tuple(OfferedTool(tool.name.replace("-", "_"), tool.description, tool.parameters) for tool in self.tools)


class Refused(Exception):
    """A request that the gateway answers with its own error; the text says why.

    Args:
        cause: of the refusal, for the log.
        kind: the error's type.
        code: the error's own code, or the status.
    """

    def __init__(
        self,
        message: str,
        status: int = 400,
        *,
        cause: Cause = "request",
        kind: str = "invalid_request_error",
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.cause, self.kind, self.code = status, cause, kind, code or str(status)


Header = tuple[bytes, bytes]

JSON_TYPE: Header = (b"content-type", b"application/json")
FINAL: Header = (b"x-should-retry", b"false")
"""Asks OpenAI's and similar SDKs not to send the request again."""

NOT_CACHED: Header = (b"cache-control", b"no-cache")
EVENTS = "text/event-stream"
EVENTS_TYPE: Header = (b"content-type", b"text/event-stream; charset=utf-8")

REST = 1.0
"""Seconds for a connection to end an answer that is over, to be used again."""


class ResponseWriter:
    """Send one response piece by piece without delay.

    Attributes:
        over: whether all that is still written changes nothing.
    """

    def __init__(self, send: Send, exchange: RecordedExchange) -> None:
        self.exchange = exchange
        self.started = False
        self.over = False
        self._send = send

    async def start(self, status: int, headers: Iterable[Header]) -> None:
        """Send the head."""
        headers = list(headers)
        events = any(name == b"content-type" and value.startswith(b"text/event-stream") for name, value in headers)
        self.started = True
        self.exchange.began(status, events=events)
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def write(self, chunk: bytes) -> None:
        """Send a part of the body."""
        if chunk:
            self.exchange.wrote(chunk)
            await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def finish(self, last: bytes = b"") -> None:
        """Send the last part of the body, which is complete then."""
        if last:
            self.exchange.wrote(last)
        self.exchange.done = True
        await self._send({"type": "http.response.body", "body": last, "more_body": False})

    async def document(self, document: Any, status: int = 200, headers: Iterable[Header] = ()) -> None:
        """Send a whole response of JSON."""
        body = json.dumps(document).encode("ascii")
        await self.start(status, [JSON_TYPE, (b"content-length", str(len(body)).encode()), *headers])
        await self.finish(body)

    async def response(self, response: Response, pause: Callable[[], Awaitable[None]] | None = None) -> None:
        """Send a response that is complete, part by part.

        Args:
            pause: waits between two parts.
        """
        size = [(b"content-length", b"%d" % len(response.body))] if response.sized else []
        headers = [(name.lower().encode(), value.encode()) for name, value in response.headers.items()]
        named = [(b"content-type", response.content_type.encode())]
        kind = [EVENTS_TYPE, NOT_CACHED] if response.content_type == EVENTS else named
        await self.start(response.status, [*kind, *size, *headers])
        *parts, last = response.parts or (b"",)
        for part in parts:
            await self.write(part)
            # Not after the last part: its end is the end of the answer for a client, which may hang up then.
            if pause is not None:
                await pause()
        await self.finish(last)

    async def refuse(self, refused: Refused) -> None:
        """Send an error in the form of the request's dialect and record it."""
        self.exchange.failed(str(refused), refused.cause)
        error = self.exchange.dialect.write_error(str(refused), refused.kind, code=refused.code)
        await self.document(error, refused.status, [FINAL])


async def while_connected(receive: Receive, writer: ResponseWriter, work: Awaitable[None]) -> None:
    """Do the work unless the framework goes away first, which ends it and is recorded; write why it is refused."""
    exchange = writer.exchange
    task = cast("asyncio.Task[None]", asyncio.current_task())
    gone = asyncio.ensure_future(_end_if_gone(receive, exchange, task))
    try:
        try:
            await work
        except Refused as refused:
            await writer.refuse(refused)
    except asyncio.CancelledError:
        # The server may have ended it, too.
        if not gone.done() or not gone.result() or task.uncancel():
            raise
    except Exception as error:
        exchange.failed(f"the gateway failed: {type(error).__name__}: {error}", "gateway")
        raise
    finally:
        gone.cancel()
        exchange.end()


async def _end_if_gone(receive: Receive, exchange: RecordedExchange, task: asyncio.Task[None]) -> bool:
    """Wait until the framework goes away; end the task and return True if the answer is not complete then."""
    while (await receive())["type"] != "http.disconnect":
        pass
    if exchange.done:
        return False
    exchange.left()
    task.cancel()
    return True


async def next_piece(pieces: AsyncIterator[bytes], writer: ResponseWriter) -> bytes | None:
    """Return the next piece of an answer, None at its end. If the answer is over, it does not matter how it ends."""
    try:
        async with asyncio.timeout(REST if writer.over else None):
            return await anext(pieces, None)
    except (aiohttp.ClientError, OSError):
        if writer.over:
            return None
        raise
