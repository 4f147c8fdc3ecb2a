"""Writes the answer to a request that was translated, in the request's own dialect."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from uuid import uuid4

from trialbed.records import Cause
from trialbed.wire import ModelAnswer, Reading, usage_counts
from trialbed.wire.dialects import Dialect, EventStream
from trialbed.wire.dialects.messages import MessagesRequest
from trialbed_scripted import Response
from trialbed_server.gateway.causes import cause_of_problem
from trialbed_server.gateway.connection import ProxiedRequest
from trialbed_server.gateway.exchange import READ_LIMIT
from trialbed_server.gateway.response import EVENTS_TYPE, NOT_CACHED, Header, ResponseWriter

PASSED = frozenset({b"retry-after", b"retry-after-ms", b"x-should-retry"})
"""Headers of an answer that a translated one has, too."""

KIND = "upstream_error"


class TranslatedAnswer(ResponseWriter):
    """Takes an answer of another dialect, and writes it as the answer to a request.

    Texts of a stream are passed on as they come; calls once the answer is whole, as vendors send their pieces in many
    ways, and only the whole shows their meaning.

    Args:
        asked: the dialect of the answer.

    Attributes:
        complete: whether the endpoint has answered in that dialect.
    """

    def __init__(self, writer: ResponseWriter, request: ProxiedRequest, asked: Dialect) -> None:
        self.exchange = writer.exchange
        self.started = False
        self.over = False
        self.complete = False
        self._writer = writer
        self._request = request
        self._asked = asked
        self._status = 0
        self._headers: list[Header] = []
        self._body = bytearray()
        self._size = 0
        self._stream: EventStream | None = None
        # Some endpoints name no id, or the same each time; later requests may follow the answer by its own.
        head = ModelAnswer(model=request.read.model, id=uuid4().hex, created=int(time.time()))
        # Anthropic's SDK fails at a stream without usage. Readers take zeros for none, so that the log estimates it.
        self._head = replace(head, usage=usage_counts(0, 0)) if isinstance(request.read, MessagesRequest) else head
        self._events = request.spoken.open_writer(self._head, request.read)

    async def start(self, status: int, headers: Iterable[Header]) -> None:
        """Note the head."""
        found = [(name.lower(), value) for name, value in headers]
        self.started = True
        self._status, self._headers = status, [header for header in found if header[0] in PASSED]
        if status < 300 and dict(found).get(b"content-type", b"").startswith(b"text/event-stream"):
            self._stream = self._asked.open_stream(self._request.read.names)
            self._stream.pieces = [] if self._request.read.stream else None

    async def write(self, chunk: bytes) -> None:
        """Take a part of the body; with the last event, write the answer: the endpoint may keep the connection open."""
        if self.over:
            return
        self._size += len(chunk)
        if self._stream is None:
            self._body += chunk[: READ_LIMIT - len(self._body)]
            return
        if self._size > READ_LIMIT:
            self._stream.refuse("too_long", f"it has more than {READ_LIMIT} bytes")
        self._stream.feed(chunk)
        for kind, text in self._stream.pieces or ():
            await self._pass_on(self._events.add(kind, text))
        if self._stream.pieces:
            self._stream.pieces.clear()
        if self._stream.over:
            self.over = True
            await self._end()

    async def finish(self) -> None:
        """Write the answer, as far as it is not written yet."""
        if not self.over:
            await self._end()

    async def _end(self) -> None:
        self.complete = self._status < 300
        if self._status >= 300:
            words = self._asked.read_error(bytes(self._body).decode("utf-8", "replace"))
            error = self._request.spoken.write_error(words, KIND, code=str(self._status))
            await self._writer.document(error, self._status, self._headers)
            return
        reading = self._asked.read_body(bytes(self._body)) if self._stream is None else self._stream.end()
        if reading.problem is None:
            await self._answer(reading.answer)
        else:
            await self._fail(reading)

    async def error(self, message: str, status: int, kind: str, cause: Cause, *, code: str | None = None) -> None:
        """Send an error of the gateway's own."""
        await self._writer.error(message, status, kind, cause, code=code)

    async def _answer(self, found: ModelAnswer) -> None:
        read, head = self._request.read, self._head
        said = replace(found, model=head.model, id=head.id, created=found.created or head.created)
        if said.calls and not said.text:
            # In a stream of chat completions, no text and an empty one are the same.
            said = replace(said, content=None)
        if said.calls and said.finish_reason == "stop":
            # Some endpoints end calls so; agents of other dialects make those only of an answer that ends with them.
            said = replace(said, finish_reason="tool_calls")
        if said.usage is None and head.usage is not None:
            said = replace(said, usage=head.usage)
        if not read.stream:
            await self._writer.response(Response.answer(said, read, self._request.spoken))
            return
        try:
            rest = self._events.end(said)
        except ValueError as error:
            await self._break(str(error), "endpoint")
            return
        await self._pass_on(rest)
        await self._writer.finish()

    async def _fail(self, reading: Reading) -> None:
        problem = reading.problem
        if problem is not None:
            cause = cause_of_problem(problem.kind, problem.code) or "endpoint"
            await self._break(problem.message, cause)

    async def _break(self, why: str, cause: Cause) -> None:
        """End with an error, in the midst of a stream if one has begun."""
        words = f"the answer of the model's endpoint cannot be translated: {why}"
        if not self._writer.started:
            await self._writer.error(words, 502, KIND, cause)
            return
        self.exchange.failed(words, cause)
        await self._pass_on(self._events.fail(words, "server_error"))
        await self._writer.finish()

    async def _pass_on(self, events: bytes) -> None:
        if not self._writer.started:
            await self._writer.start(200, [EVENTS_TYPE, NOT_CACHED])
        await self._writer.write(events)
