"""Puts requests to an endpoint in their own dialect, or translated where it does not speak that."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from uuid import uuid4

from trialbed.records import Cause
from trialbed.wire import ModelRequest, translate_request, usage_counts
from trialbed.wire.dialects import CHAT, COUNTS, dialect
from trialbed.wire.dialects.messages import MessagesRequest
from trialbed.wire.estimates import estimated_tokens
from trialbed_scripted import Response
from trialbed_server.gateway.causes import cause_of_problem
from trialbed_server.gateway.connection import ProxiedRequest
from trialbed_server.gateway.exchange import READ_LIMIT
from trialbed_server.gateway.response import Header, ResponseWriter
from trialbed_server.gateway.upstream import Upstream

PASSED = frozenset({b"retry-after", b"retry-after-ms", b"x-should-retry"})
"""Headers of an answer that a translated one has, too."""


async def forward(
    upstream: Upstream, request: ProxiedRequest, writer: ResponseWriter, follow: Callable[[ModelRequest], str]
) -> None:
    """Forward a request untouched, or as a chat completion to an endpoint that does not speak its dialect.

    That shows by the endpoint's refusal of the first such request; one that it has answered is never translated. Tokens
    are counted here where the endpoint does not.

    Args:
        follow: gives the request its earlier conversation, or says why that is not known.
    """
    name = request.spoken.NAME
    if request.path.partition("?")[0].removeprefix("/") in COUNTS:
        if not await upstream.forward(replace(request, tentative=True), writer):
            await writer.document(count_tokens(request.read))
        return
    if name == CHAT or not request.asks:
        await upstream.forward(request, writer)
        return
    if name not in upstream.lacking:
        tried = replace(request, tentative=name not in upstream.spoken)
        if await upstream.forward(tried, writer):
            return
    await _translate(upstream, request, writer, follow)


def count_tokens(request: ModelRequest) -> dict[str, int]:
    """Return the answer of the gateway's own to a request for the number of another one's tokens."""
    return {"input_tokens": estimated_tokens(request.prompt)}


async def _translate(
    upstream: Upstream, request: ProxiedRequest, writer: ResponseWriter, follow: Callable[[ModelRequest], str]
) -> None:
    read, chat = request.read, dialect()
    problem = read.problem or follow(read)
    if not problem:
        try:
            document = translate_request(read)
        except ValueError as error:
            problem = f"{error}, and that is all that the model's endpoint speaks"
    if problem:
        await writer.error(problem, 400, "invalid_request_error", "request", code=read.problem_code or None)
        return
    # The body has the model's own name already, in place of the one that the framework was told.
    sent = {**document, "model": json.loads(request.body).get("model", read.model)}
    written = json.dumps(sent).encode()
    headers = [header for header in request.headers if header[0].lower().startswith((b"content-", b"user-agent"))]
    translated = replace(
        request, path=f"/{chat.PATH}", headers=headers, body=written, read=chat.read_request(sent), spoken=chat
    )
    writer.exchange.translated = CHAT
    answer = TranslatedAnswer(writer, request)
    await upstream.forward(translated, answer)
    if answer.complete:
        upstream.lacking.add(request.spoken.NAME)
    elif not writer.started:
        await writer.error("the model's endpoint broke its answer off", 502, "upstream_error", "endpoint")


class TranslatedAnswer(ResponseWriter):
    """Takes a chat completion as a whole, and writes it as the answer to a request of another dialect.

    Attributes:
        complete: whether an answer was written.
    """

    def __init__(self, writer: ResponseWriter, request: ProxiedRequest) -> None:
        self.exchange = writer.exchange
        self.started = False
        self.complete = False
        self._writer = writer
        self._request = request
        self._status = 0
        self._headers: list[Header] = []
        self._body = bytearray()

    async def start(self, status: int, headers: Iterable[Header]) -> None:
        """Note the head."""
        self.started = True
        self._status, self._headers = status, [header for header in headers if header[0].lower() in PASSED]

    async def write(self, chunk: bytes) -> None:
        """Note a part of the body."""
        self._body += chunk[: READ_LIMIT - len(self._body)]

    async def finish(self) -> None:
        """Translate the answer, and send it."""
        self.complete = self._status < 300
        spoken, read, chat = self._request.spoken, self._request.read, dialect()
        body = bytes(self._body)
        if self._status >= 300:
            words = chat.read_error(body.decode("utf-8", "replace"))
            error = spoken.write_error(words, "upstream_error", code=str(self._status))
            await self._writer.document(error, self._status, self._headers)
            return
        reading = chat.read_body(body)
        if reading.problem is not None:
            cause = cause_of_problem(reading.problem.kind, reading.problem.code) or "endpoint"
            words = f"the answer of the model's endpoint cannot be translated: {reading.problem.message}"
            await self._writer.error(words, 502, "upstream_error", cause)
            return
        # Some endpoints name no id, or the same each time; later requests may follow the answer by its own.
        said = replace(reading.answer, model=read.model, id=uuid4().hex)
        if said.usage is None and isinstance(read, MessagesRequest):
            # Anthropic's SDK fails at a stream without it.
            self.exchange.uncounted = True
            said = replace(said, usage=usage_counts(0, 0))
        await self._writer.response(Response.answer(said, read, spoken, piece=None))

    async def error(self, message: str, status: int, kind: str, cause: Cause, *, code: str | None = None) -> None:
        """Send an error of the gateway's own."""
        await self._writer.error(message, status, kind, cause, code=code)
