"""Puts requests to an endpoint in their own dialect, or translated if it does not speak that."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import replace
from uuid import uuid4

from trialbed.records import Cause
from trialbed.wire import ModelAnswer, ModelRequest, translate_request, usage_counts
from trialbed.wire.dialects import CHAT, COUNTS, Dialect, EventStream, dialect
from trialbed.wire.dialects.messages import MessagesRequest
from trialbed.wire.dialects.responses import KeptResponses
from trialbed.wire.estimates import estimated_tokens
from trialbed_scripted import Response
from trialbed_server.gateway.circuit import cause_of_problem
from trialbed_server.gateway.connection import ProxiedRequest
from trialbed_server.gateway.exchange import EVENTS_TYPE, NOT_CACHED, READ_LIMIT, Header, Refused, ResponseWriter
from trialbed_server.gateway.upstream import Upstream

PASSED = frozenset({b"retry-after", b"retry-after-ms", b"x-should-retry"})
"""Headers of an answer that a translated one has, too."""

KIND = "upstream_error"


class TranslatedAnswer(ResponseWriter):
    """Takes an answer of another dialect, and writes it as the answer to a request.

    Texts of a stream are passed on immediately; calls once the answer is whole, because vendors send pieces in many
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
        # Anthropic's SDK fails at a stream without usage. Readers take zeros for no usage, and the log estimates it.
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

    async def finish(self, last: bytes = b"") -> None:
        """Write the rest of the answer."""
        await self.write(last)
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
        problem = reading.problem
        if problem is None:
            await self._answer(reading.answer)
        else:
            await self._break(problem.message, cause_of_problem(problem.kind, problem.code) or "endpoint")

    async def refuse(self, refused: Refused) -> None:
        """Send an error of the gateway's own."""
        await self._writer.refuse(refused)

    async def _answer(self, found: ModelAnswer) -> None:
        read, head = self._request.read, self._head
        usage = head.usage if found.usage is None else found.usage
        said = replace(found, model=head.model, id=head.id, created=found.created or head.created, usage=usage)
        if said.calls and not said.text:
            # In a stream of chat completions, no text and an empty one are the same.
            said = replace(said, content=None)
        if said.calls and said.finish_reason == "stop":
            # Some endpoints end calls so; agents of other dialects make those only of an answer that ends with them.
            said = replace(said, finish_reason="tool_calls")
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

    async def _break(self, why: str, cause: Cause) -> None:
        """End with an error, in the midst of a stream if one has begun."""
        words = f"the answer of the model's endpoint cannot be translated: {why}"
        if not self._writer.started:
            await self._writer.refuse(Refused(words, 502, kind=KIND, cause=cause))
            return
        self.exchange.failed(words, cause)
        await self._pass_on(self._events.fail(words, "server_error"))
        await self._writer.finish()

    async def _pass_on(self, events: bytes) -> None:
        if not self._writer.started:
            await self._writer.start(200, [EVENTS_TYPE, NOT_CACHED])
        await self._writer.write(events)


GOALS = (CHAT, "responses", "messages")
"""The dialects to try at an endpoint that does not speak a request's own, the likeliest first."""

KEPT = (b"content-", b"user-agent")
"""Beginnings of the names of headers that a translated request keeps."""


async def forward(upstream: Upstream, request: ProxiedRequest, writer: ResponseWriter, kept: KeptResponses) -> None:
    """Forward a request untouched, or in another dialect to an endpoint that does not speak its own.

    The endpoint shows that by refusing the first such request; a dialect that it has answered is never translated.
    Tokens are counted here if the endpoint does not count them.

    Args:
        kept: the answers that the request may follow.
    """
    name = request.spoken.NAME
    key = request.named, name
    if request.path.partition("?")[0].removeprefix("/") in COUNTS:
        if not await upstream.forward(replace(request, tentative=True), writer):
            await writer.document(count_tokens(request.read))
        return
    if not request.asks:
        await upstream.forward(request, writer)
        return
    if not upstream.dialects.lacks(*key):
        tentative = key not in upstream.dialects.answered and key not in upstream.dialects.sought
        if await upstream.forward(replace(request, tentative=tentative), writer):
            return
    if not await _translate(upstream, request, writer, kept):
        # It speaks no known dialect; its own refusal says more than another dialect's.
        await upstream.forward(request, writer)


def count_tokens(request: ModelRequest) -> dict[str, int]:
    """Return the gateway's own answer to a request that asks for a number of tokens."""
    return {"input_tokens": estimated_tokens(request.prompt)}


async def _translate(upstream: Upstream, request: ProxiedRequest, writer: ResponseWriter, kept: KeptResponses) -> bool:
    """Ask the endpoint in the dialects that it may speak; return False if it speaks none of them."""
    read, own, model = request.read, request.spoken.NAME, request.named
    problem, _ = kept.refusal(read)
    if problem:
        raise Refused(problem, code=read.problem_code)
    unwritable: list[tuple[Dialect, str]] = []
    for goal in _goals(upstream, model, own):
        try:
            translated = _translate_for(request, goal)
        except ValueError as error:
            why = f"{error}, and the model's endpoint does not speak {own.replace('_', ' ')}"
            unwritable.append((goal, why))
            continue
        tentative = (model, goal.NAME) not in upstream.dialects.answered
        if await _ask(upstream, request, replace(translated, tentative=tentative), writer):
            return True
    # If the endpoint speaks none of them either, the address or the model is wrong, and not the request.
    for goal, why in unwritable:
        if await upstream.speaks(request, goal, writer.exchange):
            raise Refused(why)
    if own == CHAT and all(upstream.dialects.lacks(model, goal.NAME) for goal, _ in unwritable):
        upstream.dialects.sought.add((model, own))
    return False


def _goals(upstream: Upstream, model: str, own: str) -> list[Dialect]:
    """Return the dialect that a model has answered first, or else all other dialects to try."""
    others = [name for name in GOALS if name != own and not upstream.dialects.lacks(model, name)]
    known = [name for name in others if (model, name) in upstream.dialects.answered]
    return [dialect(name) for name in known[:1] or others]


def _translate_for(request: ProxiedRequest, goal: Dialect) -> ProxiedRequest:
    document = translate_request(request.read, goal.NAME)
    # The body already has the model's own name in place of the framework's.
    document["model"] = json.loads(request.body).get("model", request.read.model)
    headers: list[Header] = [header for header in request.headers if header[0].lower().startswith(KEPT)]
    headers += [(name.encode(), value.encode()) for name, value in goal.HEADERS.items()]
    body, read = json.dumps(document).encode(), goal.read_request(document)
    return replace(request, path=f"/{goal.PATH}", headers=headers, body=body, read=read, spoken=goal)


async def _ask(upstream: Upstream, request: ProxiedRequest, asked: ProxiedRequest, writer: ResponseWriter) -> bool:
    """Ask the endpoint in another dialect, and answer; return False if it does not speak that either."""
    writer.exchange.translated = asked.spoken.NAME
    answer = TranslatedAnswer(writer, request, asked.spoken)
    if not await upstream.forward(asked, answer):
        writer.exchange.translated = ""
        return False
    if answer.complete:
        upstream.dialects.refused.add((request.named, request.spoken.NAME))
    elif not writer.started:
        raise Refused("the model's endpoint broke off its answer", 502, kind=KIND, cause="endpoint")
    return True
