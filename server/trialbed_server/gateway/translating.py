"""Puts requests to an endpoint in their own dialect, or translated where it does not speak that."""

from __future__ import annotations

import json
from dataclasses import replace

from trialbed.wire import ModelRequest, translate_request
from trialbed.wire.dialects import CHAT, COUNTS, Dialect, dialect
from trialbed.wire.dialects.responses import KeptResponses
from trialbed.wire.estimates import estimated_tokens
from trialbed_server.gateway.connection import ProxiedRequest
from trialbed_server.gateway.response import Header, ResponseWriter
from trialbed_server.gateway.translated import TranslatedAnswer
from trialbed_server.gateway.upstream import Upstream

GOALS = (CHAT, "responses", "messages")
"""The dialects in which an endpoint is asked that does not speak a request's own, the likeliest first."""

KEPT = (b"content-", b"user-agent")
"""Beginnings of the names of headers that a translated request keeps."""


async def forward(upstream: Upstream, request: ProxiedRequest, writer: ResponseWriter, kept: KeptResponses) -> None:
    """Forward a request untouched, or in another dialect to an endpoint that does not speak its own.

    That shows by the endpoint's refusal of the first such request; one that it has answered is never translated. Tokens
    are counted here where the endpoint does not.

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
        # It speaks nothing, as far as is known: its own refusal says more than that of another dialect.
        await upstream.forward(request, writer)


def count_tokens(request: ModelRequest) -> dict[str, int]:
    """Return the answer of the gateway's own to a request for the number of another one's tokens."""
    return {"input_tokens": estimated_tokens(request.prompt)}


async def _translate(upstream: Upstream, request: ProxiedRequest, writer: ResponseWriter, kept: KeptResponses) -> bool:
    """Ask the endpoint in the dialects that it may speak; return False if it speaks none of them."""
    read, own, model = request.read, request.spoken.NAME, request.named
    problem, _ = kept.refusal(read)
    if problem:
        await writer.error(problem, 400, "invalid_request_error", "request", code=read.problem_code or None)
        return True
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
    # Where the endpoint speaks none of them either, the address or the model is wrong, and not the request.
    for goal, why in unwritable:
        if await upstream.speaks(request, goal, writer.exchange):
            await writer.error(why, 400, "invalid_request_error", "request")
            return True
    if own == CHAT and all(upstream.dialects.lacks(model, goal.NAME) for goal, _ in unwritable):
        upstream.dialects.sought.add((model, own))
    return False


def _goals(upstream: Upstream, model: str, own: str) -> list[Dialect]:
    """Return the dialects in which a model may be asked: the first that it has answered in, else all others."""
    others = [name for name in GOALS if name != own and not upstream.dialects.lacks(model, name)]
    known = [name for name in others if (model, name) in upstream.dialects.answered]
    return [dialect(name) for name in known[:1] or others]


def _translate_for(request: ProxiedRequest, goal: Dialect) -> ProxiedRequest:
    document = translate_request(request.read, goal.NAME)
    # The body has the model's own name already, in place of the one that the framework was given.
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
        await writer.error("the model's endpoint broke its answer off", 502, "upstream_error", "endpoint")
    return True
