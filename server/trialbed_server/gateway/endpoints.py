"""The gateway's routes, under ``/v1`` and ``/t/{trial}/v1``."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from starlette.types import Receive, Scope, Send

from trialbed.contracts import ModelQuestion, ModelReply, QuestionRefused, ReplyMissing, TrialModel
from trialbed.records import Cause
from trialbed.texts import json_leaves
from trialbed.wire import ModelRequest
from trialbed.wire.dialects import COUNTS, dialect_at
from trialbed.wire.dialects import PATHS as DIALECTS
from trialbed.wire.dialects.responses import KeptResponses
from trialbed.wire_log import estimated_usage
from trialbed_scripted import Response
from trialbed_scripted.faults import put_in
from trialbed_server._clock import Clock
from trialbed_server._http import TrialEndpoint, error_response, send_json
from trialbed_server._metrics import Metrics
from trialbed_server._options import ServerOptions
from trialbed_server.faults import PutIn
from trialbed_server.gateway import embeddings
from trialbed_server.gateway.connection import ProxiedRequest, Redactor, added_parts, headers_of_agent
from trialbed_server.gateway.exchange import (
    EVENTS,
    LONGEST_NAME,
    RecordedExchange,
    Refused,
    ResponseWriter,
    while_connected,
)
from trialbed_server.gateway.translating import count_tokens, forward
from trialbed_server.gateway.upstream import Upstream, Upstreams
from trialbed_server.trials import LogBudget, OpenTrial, TrialRegistry

logger = logging.getLogger(__name__)


_FIELD = re.compile(r'[\s,]*("(?:[^"\\]|\\.)*")\s*:\s*')
"""The name of a field and the signs around it, in an object that is known to be JSON."""

ALTERNATIVES = frozenset({"models", "fallbacks"})
"""Fields of proxies for further models to ask in place of the first."""


def foreign_model(body: bytes, allowed: Collection[str], read: str = "") -> str | None:
    """Return the first model that a request names and that is not allowed, or None.

    Every spelling counts that some server reads: a field that stands twice, one in other letters (Go's reader of JSON
    takes ``Model``, too), and lists of models to fall back on.

    Args:
        read: the model that a usual reader of JSON finds in it. To look for any other is faster then.

    Raises:
        ValueError: the body is not a JSON object in UTF-8, so an endpoint may read in it what cannot be seen here.
    """
    if read in allowed and _names_one_model(body):
        return None
    try:
        found = list(_members(body.decode()))
    except RecursionError as error:
        raise ValueError(f"it cannot be read: {error}") from None
    for name, value, _ in found:
        if name.casefold() == "model" and not (isinstance(value, str) and value in allowed):
            return value if isinstance(value, str) else json.dumps(value)
        if name.casefold() in ALTERNATIVES:
            for model in json_leaves(value):
                if isinstance(model, str) and model not in allowed:
                    return model
    return None


def _names_one_model(body: bytes) -> bool:
    """Return whether a JSON object names a model once, and in no other spelling.

    This takes a fraction of the time to read the fields one by one, and most requests pass.
    """
    lower = body.lower()
    return body.isascii() and b"\\u" not in body and lower.count(b'"model') == 1 and b'"fallbacks"' not in lower


def with_model(body: bytes, given: str, own: str) -> bytes:
    """Replace the name of the model that the framework was given by its own name; all other bytes stay.

    A request is returned unchanged if it names another model or no model, or cannot be read.
    """
    if given == own:
        return body
    try:
        text = body.decode()
        places = [place for name, value, place in _members(text) if name == "model" and value == given]
    except (ValueError, RecursionError):
        return body
    for start, end in reversed(places):
        text = f"{text[:start]}{json.dumps(own)}{text[end:]}"
    return text.encode()


def _members(text: str) -> Iterator[tuple[str, Any, tuple[int, int]]]:
    """Yield the members of a JSON object, each with the place of its value.

    Raises:
        ValueError: it is not one.
    """
    if not isinstance(json.loads(text), dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - of a body, not of an argument
    place, decoder = text.index("{") + 1, json.JSONDecoder()
    while found := _FIELD.match(text, place):
        value, place = decoder.raw_decode(text, found.end())
        yield json.loads(found[1]), value, (found.end(), place)


MODELS = "models"

BESIDE = frozenset({MODELS, embeddings.PATH, *COUNTS})
"""Paths of requests that are not put to a model."""

ANY = "*"
"""Stands for every model allowed by a trial."""

NO_LOG = LogBudget(body=0)
"""The bodies of requests without a trial are not kept."""

UNANSWERED: frozenset[Cause | None] = frozenset({"endpoint", "gateway", "replay"})
"""Causes that keep a request from counting as a step of the trial, because the model was not reached."""


@dataclass(eq=False)
class Gateway(TrialEndpoint):
    """Answer requests to models, or forward them to an endpoint, and record them in their trial.

    Attributes:
        upstreams: the endpoints of models; empty if the server knows only models that answer in the gateway.
        faults: injected into answers to requests without a trial.
    """

    trials: TrialRegistry
    faults: PutIn | None
    upstreams: Upstreams
    clock: Clock
    metrics: Metrics
    options: ServerOptions
    _kept: WeakKeyDictionary[OpenTrial, KeptResponses] = field(default_factory=WeakKeyDictionary)

    async def refuse(self, message: str, status: int, scope: Scope, send: Send) -> None:
        """Send an error in the form of the path's dialect."""
        response = error_response(scope["path"], message, status)
        await send_json(bytes(response.body), status, send)

    async def serve(self, trial: OpenTrial | None, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have the endpoint answer it, and record it."""
        path = scope["path_params"]["path"]
        upstream = self._upstream_of(trial)
        redactor = Redactor(None) if upstream is None else upstream.redactor()
        clock, budget = (self.clock.monotonic, NO_LOG) if trial is None else (trial.elapsed, trial.budget)
        exchange = RecordedExchange(clock, budget, redactor.whole(body), spoken=dialect_at(path))
        exchange.beside = path in BESIDE
        writer = ResponseWriter(send, exchange)
        work = self._answer(trial, body, scope, writer)
        if trial is None:
            await while_connected(receive, writer, work)
            self._note_untagged(exchange, scope)
        else:
            exchange.tools, exchange.added = trial.registration.tools, added_parts(scope)
            if not exchange.beside:
                trial.model_calls.append(exchange)
            with trial.in_use():
                await while_connected(receive, writer, work)
            self._count(trial, exchange)
        self.metrics.gateway.labels(exchange.status).inc()

    def _count(self, trial: OpenTrial, exchange: RecordedExchange) -> None:
        """Count an ended request against the trial's limits."""
        if not exchange.beside:
            usage = estimated_usage(exchange.record())
            trial.tokens += 0 if usage is None else usage.total_tokens
            trial.answered += exchange.cause is None and exchange.status == 200
        if exchange.step and exchange.cause in UNANSWERED:
            trial.give_back_step()

    def _note_untagged(self, exchange: RecordedExchange, scope: Scope) -> None:
        call = exchange.record()
        if not exchange.beside:
            self.metrics.untagged.labels("model").inc()
        tokens = f"{call.usage.prompt_tokens} + {call.usage.completion_tokens}" if call.usage else "unknown"
        logger.info("no trial: %s %.100r, status %s, tokens %s", scope["method"], scope["path"], call.status, tokens)

    async def _answer(self, trial: OpenTrial | None, body: bytes, scope: Scope, writer: ResponseWriter) -> None:
        """Answer a request, or forward it.

        Raises:
            Refused: its path is not served, it is past a limit of its trial, or it names another model.
        """
        path, method, exchange = scope["path_params"]["path"], scope["method"], writer.exchange
        asks, embeds = path in DIALECTS, path == embeddings.PATH
        posted = method == "POST" and (asks or embeds or path in COUNTS)
        if not posted and (method, path) != ("GET", MODELS):
            served = ", ".join(f"POST /v1/{served}" for served in (*DIALECTS, *COUNTS, embeddings.PATH))
            message = f"{method} /v1/{path} is not served here; {served} and GET /v1/{MODELS} are"
            raise Refused(message, 404, cause="path")
        if trial is not None:
            # Some frameworks count tokens, which costs nothing, before each request: they would run out of steps.
            if asks or embeds:
                _take_step(trial, exchange)
            if asks or path in COUNTS:
                _admit(trial, body, exchange)
        if asks and await self._puts_in(trial, writer):
            return
        if embeds:
            await self._embed(trial, body, scope, writer)
        elif path in COUNTS and self._counts(trial, exchange):
            await writer.document(count_tokens(exchange.request))
        elif trial is not None and path == MODELS and (trial.model or trial.model_name != trial.registration.model):
            # No endpoint lists it under this name.
            created = int(trial.opened_at.timestamp())
            entry = {"id": trial.model_name, "object": "model", "owned_by": "trialbed", "created": created}
            await writer.document({"object": "list", "data": [entry]})
        elif trial is not None and asks and trial.model is not None:
            await self._have_answered(trial, trial.model, body, scope, writer)
        else:
            await self._forward(trial, body, scope, writer)

    async def _have_answered(
        self, trial: OpenTrial, model: TrialModel, body: bytes, scope: Scope, writer: ResponseWriter
    ) -> None:
        """Have the trial's model answer, and keep the answer for later requests that refer to it.

        Raises:
            Refused: the request cannot be answered, or the model failed.
        """
        exchange, kept = writer.exchange, self._responses(trial)
        problem, code = kept.refusal(exchange.request, strict=model.is_strict)
        if problem and trial.registration.cached_as and model.asks:
            # The endpoint may know better.
            await self._forward(trial, body, scope, writer)
            return
        if problem:
            raise Refused(problem, code=code)
        place = trial.model_calls.index(exchange)
        said = trial.turns[-1].text if trial.turns else ""
        acted = trial.user_calls
        question = ModelQuestion(exchange.request, exchange.dialect, place, trial.turn, said, exchange.held, acted)
        served = None
        try:
            reply = await _reply(model, question, trial)
            if reply is None:
                await self._forward(trial, body, scope, writer)
            else:
                exchange.recorded = reply.recorded
                # Even if it waits for nothing, another request gets its turn.
                await self.clock.sleep(reply.first)
                pause = partial(self.clock.sleep, reply.pause) if reply.pause else None
                await writer.response(_response(reply, trial, question), pause)
            size, served = len(exchange.body), exchange.whole_answer()
            if served is not None:
                size += len(served.body)
                kept.keep(question.request, exchange.document, size, recorded=exchange.recorded is not None)
        finally:
            model.note_answer(question, served)

    async def _embed(self, trial: OpenTrial | None, body: bytes, scope: Scope, writer: ResponseWriter) -> None:
        exchange, started, made = writer.exchange, writer.exchange.clock(), None
        try:
            if self._answers_here(trial):
                made = await asyncio.to_thread(embeddings.embed, body)
                await writer.response(Response((made.body,)))
            else:
                if trial is not None:
                    _admit(trial, body, exchange)
                await self._forward(trial, body, scope, writer)
        except Refused as refused:
            # Before the request is recorded.
            await writer.refuse(refused)
        finally:
            if trial is not None:
                duration = exchange.clock() - started
                record = embeddings.record_embedding(exchange, started=started, duration=duration, made=made)
                trial.embedding_calls.append(record)
                trial.tokens += record.tokens or 0

    def _responses(self, trial: OpenTrial | None) -> KeptResponses:
        """Return the responses that a trial's model has given in the gateway, which end with the trial."""
        return KeptResponses() if trial is None else self._kept.setdefault(trial, KeptResponses())

    def _counts(self, trial: OpenTrial | None, exchange: RecordedExchange) -> bool:
        """Return whether the gateway counts the tokens of a request because no endpoint does."""
        upstream = self._upstream_of(trial)
        if upstream is None or self._answers_here(trial):
            return self._answers_here(trial)
        return upstream.dialects.lacks(_own_name(trial, exchange.request), exchange.dialect.NAME)

    def _answers_here(self, trial: OpenTrial | None) -> bool:
        """Return whether a trial's model answers in the gateway, rather than keep an endpoint's answers."""
        if trial is None or trial.model is None:
            return False
        return self._upstream_of(trial) is None or not (trial.registration.cached_as and trial.model.asks)

    def _upstream_of(self, trial: OpenTrial | None) -> Upstream | None:
        return self.upstreams.at(None if trial is None else trial.registration.base_url)

    async def _forward(self, trial: OpenTrial | None, body: bytes, scope: Scope, writer: ResponseWriter) -> None:
        """Have the endpoint answer a request.

        Raises:
            Refused: there is no endpoint.
        """
        upstream = self._upstream_of(trial)
        if upstream is None:
            raise Refused(
                "this server has no upstream endpoint; start it with `bench serve --base-url URL`, or open a trial "
                "with a scripted model",
                404,
                cause="gateway",
            )
        target, headers = f"/{scope['path_params']['path']}", scope["headers"]
        read, spoken, silence = writer.exchange.request, writer.exchange.dialect, self.options.upstream_timeout
        kept, model, sent = self._responses(trial), "", body
        if kept.follows_recorded(read):
            sent = json.dumps(read.whole).encode()
        if trial is not None:
            headers, silence, model = headers_of_agent(headers), trial.timeout(silence), trial.own_model
            sent = with_model(sent, trial.model_name, model)
        elif query := scope["query_string"].decode("latin-1"):
            target += f"?{query}"
        request = ProxiedRequest(
            scope["method"], target, headers, sent, silence, read, spoken, model, _own_name(trial, read)
        )
        await forward(upstream, request, writer, kept)
        if trial is not None and trial.model is None and writer.exchange.translated:
            answered = writer.exchange.whole_answer()
            if answered is not None:
                kept.keep(read, writer.exchange.document, len(body) + len(answered.body))

    async def _puts_in(self, trial: OpenTrial | None, writer: ResponseWriter) -> bool:
        """Answer a request with the fault that is planned for it, if any; a slow answer is only delayed."""
        faults = self.faults if trial is None else trial.faults
        fault = None if faults is None else faults.next_request()
        if faults is None or fault is None:
            return False
        writer.exchange.fault = fault
        if fault == "slow":
            began = writer.exchange.clock()
            await self.clock.sleep(faults.plan.slow_seconds)
            writer.exchange.slowed = writer.exchange.clock() - began
            return False
        await writer.response(put_in(fault, writer.exchange.dialect))
        return True


async def _reply(model: TrialModel, question: ModelQuestion, trial: OpenTrial) -> ModelReply | None:
    """Return the model's answer; None if it leaves that to the endpoint.

    A model that fails is broken, which is no framework's fault. After it has answered, the request may have broken it.
    """
    try:
        return await model.answer(question)
    except ReplyMissing as missing:
        raise Refused(str(missing), cause="replay", code="not_recorded") from missing
    except QuestionRefused as refused:
        raise Refused(str(refused)) from refused
    except Exception as error:
        logger.exception("the model of trial %s failed", trial.registration.trial)
        message = f"the model {trial.registration.model!r} failed: {type(error).__name__}: {error}"
        cause: Cause = "request" if trial.answered else "gateway"
        raise Refused(message, 500, kind="server_error", cause=cause) from error


def _response(reply: ModelReply, trial: OpenTrial, question: ModelQuestion) -> Response:
    """Return an answer to send, with the trial's model and time if it names no model."""
    request = question.request
    if reply.body is None:
        said = reply.answer
        if not said.model:
            said = replace(said, created=int(trial.opened_at.timestamp()), model=trial.model_name)
        return Response.answer(said, request, question.dialect)
    # Some endpoints answer a request for a stream with a document.
    events = request.stream and not reply.body.lstrip().startswith(b"{")
    kind = reply.content_type or (EVENTS if events else Response.content_type)
    return Response((reply.body,), reply.status, kind, reply.headers, sized=kind != EVENTS)


def _own_name(trial: OpenTrial | None, read: ModelRequest) -> str:
    return read.model if trial is None or read.model != trial.model_name else trial.own_model


def _admit(trial: OpenTrial, body: bytes, exchange: RecordedExchange) -> None:
    """Reject a request that asks for another model than the trial's.

    An unreadable request might, too. The agents of the caller's own program may ask for any model, and the log says
    which. A model in the gateway that was opened without a name answers to all.

    Raises:
        Refused: it asks for another model, or might.
    """
    registration, model = trial.registration, trial.model_name
    if trial.model is not None and registration.model_name is None:
        return
    problem = ""
    try:
        other = foreign_model(body, {model, registration.model}, exchange.request.model)
        exchange.other_model = other or ("" if exchange.request.model else "(none)")
    except ValueError as error:
        other, problem, exchange.other_model = None, str(error), "(unreadable)"
    if not exchange.other_model or registration.ambient or {exchange.other_model, ANY} & {*registration.allowed_models}:
        return
    if problem:
        what = f"the body of the request is not a JSON object in UTF-8 ({problem}), so its model is not known"
        raise Refused(f"{what}; send JSON without a content encoding", code="invalid_request")
    if other is None:
        raise Refused(f"the request names no model; this trial's is {model!r}", code="invalid_request")
    message = (
        f"this trial's model is {model!r}, and the request asks for {exchange.other_model[:LONGEST_NAME]!r}. "
        f"--model-name {exchange.other_model[:LONGEST_NAME]} has the run's model answer under this name; "
        "`bench run --allow-model NAME` lets the agent ask another model"
    )
    raise Refused(message, 404, code="model_not_found")


def _take_step(trial: OpenTrial, exchange: RecordedExchange) -> None:
    """Count a request as a step of the trial.

    Some words make frameworks ask again or condense the conversation, for example about rates, about too many of
    something, or about the length of a context. The name of the setting avoids them.

    Raises:
        Refused: it is past a limit.
    """
    name = exchange.limit = trial.take_step()
    exchange.step = name is None
    if name is None:
        return
    limits, most = trial.registration.limits, trial.registration.max_trial_tokens
    if name == "max_trial_tokens":
        reason = f"its model has used {trial.tokens} tokens, and its setting {name} is {most}"
    elif name == "timeout":
        reason = f"it has taken longer than the {limits.timeout if limits else 0:g} s that its setting {name} allows"
    else:
        steps = limits.max_steps if limits else 0
        reason = f"the model was asked {steps} times, which is all that its setting {name} allows"
    raise Refused(f"this trial is over: {reason}", 403, cause="limit", code=name)
