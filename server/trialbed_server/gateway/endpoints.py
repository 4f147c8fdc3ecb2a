"""The gateway's routes, under ``/v1`` and ``/t/{trial}/v1``."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from starlette.types import Receive, Scope, Send

from trialbed.contracts import ModelQuestion, ModelReply, QuestionRefused, ReplyMissing, TrialModel
from trialbed.records import Cause
from trialbed.texts import json_leaves
from trialbed.wire import ModelRequest
from trialbed.wire.dialects import COUNTS, Dialect, dialect_at
from trialbed.wire.dialects import PATHS as DIALECTS
from trialbed.wire.dialects.responses import KeptResponses, is_kept, not_found
from trialbed.wire_log import estimated_usage
from trialbed_scripted import Response
from trialbed_scripted.faults import put_in
from trialbed_server._clock import Clock
from trialbed_server._http import BodyTooLarge, ClientGone, error_response, read_body
from trialbed_server._metrics import Metrics
from trialbed_server._options import ServerOptions
from trialbed_server.gateway import embeddings
from trialbed_server.gateway.connection import ProxiedRequest, Redactor, added_parts, headers_of_agent
from trialbed_server.gateway.exchange import EVENTS, LONGEST_NAME, RecordedExchange, ResponseWriter, while_connected
from trialbed_server.gateway.translating import count_tokens, forward
from trialbed_server.gateway.upstream import Upstream, Upstreams
from trialbed_server.trials import OpenTrial, TrialRefused, TrialRegistry, Untagged

logger = logging.getLogger(__name__)


_MARK = re.compile(r"[ \t\n\r]*([{:,}])[ \t\n\r]*")
_DECODER = json.JSONDecoder()

ALTERNATIVES = frozenset({"models", "fallbacks"})
"""Fields in which proxies take models that they ask in place of the first."""


class _Member(NamedTuple):
    """A member of the outermost object of a body, and the place of its value."""

    name: str
    value: Any
    start: int
    end: int


def foreign_model(body: bytes, allowed: Collection[str], read: str = "") -> str | None:
    """Return the first model that a request names and that is not allowed; None if there is none.

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
    for name, value, *_ in found:
        if name.casefold() == "model" and not (isinstance(value, str) and value in allowed):
            return value if isinstance(value, str) else json.dumps(value)
        if name.casefold() in ALTERNATIVES:
            for model in json_leaves(value):
                if isinstance(model, str) and model not in allowed:
                    return model
    return None


def _names_one_model(body: bytes) -> bool:
    """Whether an object in JSON names a model in one place, so that no field stands twice or in another spelling.

    To find this out takes a fraction of reading the fields one by one, and most requests are so.
    """
    lower = body.lower()
    return body.isascii() and b"\\u" not in body and lower.count(b'"model') == 1 and b'"fallbacks"' not in lower


def with_model(body: bytes, given: str, own: str) -> bytes:
    """Replace the name of the model that the framework was given by its own name; all other bytes stay.

    A request that names another model, or none, or that cannot be read is left as it is.
    """
    if given == own:
        return body
    try:
        text = body.decode()
        places = [member for member in _members(text) if member.name == "model" and member.value == given]
    except (ValueError, RecursionError):
        return body
    for member in reversed(places):
        text = f"{text[: member.start]}{json.dumps(own)}{text[member.end :]}"
    return text.encode()


def _members(text: str) -> Iterator[_Member]:
    """Yield the members of a JSON object.

    Raises:
        ValueError: it is not one.
    """
    found = _past("{", text, 0)
    if text.startswith("}", found.end()):
        found = _past("}", text, found.end())
    while found[1] != "}":
        if not text.startswith('"', found.end()):
            raise ValueError("the name of a field is not a text")
        name, place = _DECODER.raw_decode(text, found.end())
        start = _past(":", text, place).end()
        value, place = _DECODER.raw_decode(text, start)
        yield _Member(name, value, start, place)
        found = _past(",}", text, place)
    if found.end() < len(text):
        raise ValueError("there is more after the JSON object")


def _past(marks: str, text: str, place: int) -> re.Match[str]:
    """Return the one of these marks that comes next, with the space around it."""
    found = _MARK.match(text, place)
    if found is None or found[1] not in marks:
        raise ValueError(f"{' or '.join(marks)} is missing")
    return found


JSON = "application/json"


async def answer(
    trial: OpenTrial,
    model: TrialModel,
    clock: Clock,
    writer: ResponseWriter,
    kept: KeptResponses,
    forward: Callable[[], Awaitable[None]],
) -> None:
    """Have the trial's model answer one request, and keep the answer for later ones that refer to it.

    Args:
        kept: the answers that the trial was given before.
        forward: has the endpoint answer, where the model leaves that to it.
    """
    exchange = writer.exchange
    problem, code = kept.refusal(exchange.request, strict=model.is_strict)
    if problem and trial.registration.cached_as and model.asks:
        # The endpoint may know better.
        await forward()
        return
    if problem:
        await writer.error(problem, 400, "invalid_request_error", "request", code=code or None)
        return
    place = trial.model_calls.index(exchange)
    question = ModelQuestion(exchange.request, exchange.dialect, place, exchange.held)
    served = None
    try:
        if not await _answers(question, trial, model, clock, writer):
            await forward()
        size = len(exchange.body)
        served = exchange.whole_answer()
        if served is not None:
            size, recorded = size + len(served.body), exchange.recorded is not None
            kept.keep(question.request, exchange.document, size, recorded=recorded)
    finally:
        model.note_answer(question, served)


async def _answers(
    question: ModelQuestion, trial: OpenTrial, model: TrialModel, clock: Clock, writer: ResponseWriter
) -> bool:
    """Send the model's answer; return False if it leaves that to the endpoint.

    A model that fails is broken, which is no framework's fault. After it has answered, the request may have broken it.
    """
    try:
        reply = await model.answer(question)
    except ReplyMissing as missing:
        await writer.error(str(missing), 400, "invalid_request_error", "replay", code="not_recorded")
        return True
    except QuestionRefused as refused:
        await writer.error(str(refused), 400, "invalid_request_error", "request")
        return True
    except Exception as error:
        logger.exception("the model of trial %s failed", trial.registration.trial)
        message = f"the model {trial.registration.model!r} failed: {type(error).__name__}: {error}"
        await writer.error(message, 500, "server_error", "request" if trial.answered else "gateway")
        return True
    if reply is None:
        return False
    writer.exchange.recorded = reply.recorded
    # Even where it waits for nothing, another request gets its turn.
    await clock.sleep(reply.first)
    response = _response(reply, trial, question.request, question.dialect)
    await writer.response(response, pause=partial(clock.sleep, reply.pause) if reply.pause else None)
    return True


def _response(reply: ModelReply, trial: OpenTrial, request: ModelRequest, spoken: Dialect) -> Response:
    """Return an answer as it is sent, with the trial's model and time if it names no model."""
    if reply.body is None:
        said = reply.answer
        if not said.model:
            said = replace(said, created=int(trial.opened_at.timestamp()), model=trial.model_name)
        return Response.answer(said, request, spoken)
    # Some endpoints answer a request for a stream with a document.
    events = request.stream and not reply.body.lstrip().startswith(b"{")
    return Response((reply.body,), content_type=EVENTS if events else JSON, sized=not events)


MODELS = "models"

BESIDE = frozenset({MODELS, embeddings.PATH, *COUNTS})
"""Paths of requests that are not put to a model."""

ANY = "*"
"""Stands for every model among those that a trial allows."""

UNANSWERED: frozenset[Cause | None] = frozenset({"endpoint", "gateway", "replay"})
"""Causes with which a request does not count as one of the trial's steps: the model was not reached."""

REFUSED: tuple[str, Cause] = ("invalid_request_error", "limit")
"""Type and cause of a request that is past a limit."""

NO_UPSTREAM = (
    "this server has no upstream endpoint; start it with `bench serve --base-url URL`, "
    "or open a trial with a scripted model"
)


@dataclass(eq=False)
class Gateway:
    """Answers requests to models, or forwards them to an endpoint, and records them in their trial.

    Attributes:
        upstreams: where models are; none if the server knows only those that answer in the gateway.
    """

    trials: TrialRegistry
    untagged: Untagged
    upstreams: Upstreams
    clock: Clock
    metrics: Metrics
    options: ServerOptions
    _kept: WeakKeyDictionary[OpenTrial, KeptResponses] = field(default_factory=WeakKeyDictionary)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            trial = self.trials.of(scope["path_params"].get("trial"))
            body = await read_body(scope, receive, self.options.max_body)
        except ClientGone:
            return
        except TrialRefused as error:
            await error_response(scope["path"], str(error), error.status)(scope, receive, send)
        except BodyTooLarge:
            message = f"the request is larger than {self.options.max_body} bytes"
            await error_response(scope["path"], message, 413)(scope, receive, send)
        else:
            await self._serve(trial, body, scope, receive, send)

    async def _serve(self, trial: OpenTrial | None, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        beside = _is_beside(scope)
        exchange = self._exchange(trial, body, dialect_at(scope["path_params"]["path"]))
        exchange.beside = beside
        exchange.added = () if trial is None else added_parts(scope)
        work = self._answer(trial, body, scope, ResponseWriter(send, exchange))
        if trial is None:
            await while_connected(receive, exchange, work)
            self._note_untagged(exchange, scope)
        else:
            if not beside:
                trial.model_calls.append(exchange)
            with trial.in_use():
                await while_connected(receive, exchange, work)
            self._count(trial, exchange)
        self.metrics.model_request(exchange.status)

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
        if not _is_beside(scope):
            self.untagged.add_model_call(call)
        tokens = f"{call.usage.prompt_tokens} + {call.usage.completion_tokens}" if call.usage else "unknown"
        logger.info("no trial: %s %.100r, status %s, tokens %s", scope["method"], scope["path"], call.status, tokens)

    def _exchange(self, trial: OpenTrial | None, body: bytes, spoken: Dialect | None) -> RecordedExchange:
        upstream = self._upstream_of(trial)
        redactor = upstream.redactor() if upstream is not None else Redactor(None)
        if trial is None:
            return RecordedExchange(self.untagged.elapsed, self.untagged.budget(), redactor.whole(body), spoken=spoken)
        return RecordedExchange(trial.elapsed, trial.budget, redactor.whole(body), trial.registration.tools, spoken)

    async def _answer(self, trial: OpenTrial | None, body: bytes, scope: Scope, writer: ResponseWriter) -> None:
        path, method = scope["path_params"]["path"], scope["method"]
        asks = path in DIALECTS
        # Some frameworks count tokens, which costs nothing, before each request: they would run out of steps.
        counted = asks or path == embeddings.PATH
        read = asks or path in COUNTS
        posted = method == "POST" and (read or counted)
        if not (is_kept(method, path) or (method == "GET" and path == MODELS)) and not posted:
            served = ", ".join(f"POST /v1/{served}" for served in (*DIALECTS, *COUNTS, embeddings.PATH))
            message = f"{method} /v1/{path} is not served here; {served} and GET /v1/{MODELS} are"
            await writer.error(message, 404, "invalid_request_error", "path")
        elif counted and trial is not None and not self._takes_step(trial, writer.exchange):
            await writer.error(_past_limit(trial, writer.exchange), 403, *REFUSED, code=writer.exchange.limit)
        elif read and trial is not None and (refusal := _not_admitted(trial, body, writer.exchange)):
            message, status, code = refusal
            await writer.error(message, status, "invalid_request_error", "request", code=code)
        elif asks and await self._puts_in(trial, writer):
            return
        elif path == MODELS and trial is not None and _names_its_model(trial):
            await writer.document(_models(trial))
        elif is_kept(method, path) and trial is not None and self._keeps(trial, path):
            document = self._responses(trial).serve(method, path)
            if document is None:
                await writer.error(not_found(path), 404, "invalid_request_error", "request")
            else:
                await writer.document(document)
        elif path == embeddings.PATH:
            await self._embed(trial, body, scope, writer)
        elif path in COUNTS and self._counts(trial, writer.exchange):
            await writer.document(count_tokens(writer.exchange.request))
        elif asks and trial is not None and trial.model is not None:
            otherwise = partial(self._forward, trial, body, scope, writer)
            await answer(trial, trial.model, self.clock, writer, self._responses(trial), otherwise)
        else:
            await self._forward(trial, body, scope, writer)

    async def _embed(self, trial: OpenTrial | None, body: bytes, scope: Scope, writer: ResponseWriter) -> None:
        """Answer a request for vectors, and record it."""
        exchange, started, made = writer.exchange, writer.exchange.clock(), None
        try:
            if self._answers_here(trial):
                made = await asyncio.to_thread(embeddings.embed, body)
                await writer.response(Response((made.body,)))
            elif trial is not None and (refusal := _not_admitted(trial, body, exchange)):
                message, status, code = refusal
                await writer.error(message, status, "invalid_request_error", "request", code=code)
            else:
                await self._forward(trial, body, scope, writer)
        except embeddings.BadRequest as error:
            await writer.error(str(error), 400, "invalid_request_error", "request")
        finally:
            if trial is not None:
                duration = exchange.clock() - started
                record = embeddings.record_embedding(exchange, started=started, duration=duration, made=made)
                trial.embedding_calls.append(record)
                trial.tokens += record.tokens or 0

    def _keeps(self, trial: OpenTrial, path: str) -> bool:
        """Return whether the gateway keeps the responses of a trial, or at least this one."""
        return self._answers_here(trial) or self._responses(trial).serve("GET", path) is not None

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
        """Return the endpoint of a trial's model."""
        return self.upstreams.at(None if trial is None else trial.registration.base_url)

    async def _forward(self, trial: OpenTrial | None, body: bytes, scope: Scope, writer: ResponseWriter) -> None:
        """Have the endpoint answer a request."""
        upstream = self._upstream_of(trial)
        if upstream is None:
            await writer.error(NO_UPSTREAM, 404, "invalid_request_error", "gateway")
            return
        target, headers = f"/{scope['path_params']['path']}", scope["headers"]
        if trial is not None:
            headers = headers_of_agent(headers)
        elif query := scope["query_string"].decode("latin-1"):
            target += f"?{query}"
        silence = self.options.upstream_timeout if trial is None else trial.timeout(self.options.upstream_timeout)
        read, spoken = writer.exchange.request, writer.exchange.dialect
        kept = self._responses(trial)
        if kept.follows_recorded(read):
            body = json.dumps(read.whole).encode()
        sent = body if trial is None else with_model(body, trial.model_name, trial.own_model)
        model = "" if trial is None else trial.own_model
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
        faults = self.untagged.faults if trial is None else trial.faults
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

    def _takes_step(self, trial: OpenTrial, exchange: RecordedExchange) -> bool:
        exchange.limit = trial.take_step()
        exchange.step = exchange.limit is None
        return exchange.step


def _own_name(trial: OpenTrial | None, read: ModelRequest) -> str:
    """Return the model for which the endpoint is asked, by its own name."""
    return read.model if trial is None or read.model != trial.model_name else trial.own_model


def _is_beside(scope: Scope) -> bool:
    """Return whether a request does not ask a model."""
    path = scope["path_params"]["path"]
    return path in BESIDE or is_kept(scope["method"], path)


def _not_admitted(trial: OpenTrial, body: bytes, exchange: RecordedExchange) -> tuple[str, int, str] | None:
    """Return why a request is rejected, with status and code, if it asks for another model than the trial's.

    A request that cannot be read might, too. The agents of the caller's own program may ask for any model; the log says
    for which. A model in the gateway that was opened without a name answers to all.
    """
    registration = trial.registration
    if trial.model is not None and registration.model_name is None:
        return None
    other, problem = None, ""
    try:
        other = foreign_model(body, {trial.model_name, registration.model}, exchange.request.model)
        exchange.other_model = other or ("" if exchange.request.model else "(none)")
    except ValueError as error:
        problem, exchange.other_model = str(error), "(unreadable)"
    if not exchange.other_model or registration.ambient:
        return None
    if {exchange.other_model, ANY} & {*registration.allowed_models}:
        return None
    if problem:
        what = f"the body of the request is not a JSON object in UTF-8 ({problem}), so its model is not known"
        return f"{what}; send JSON without a content encoding", 400, "invalid_request"
    if other is None:
        return f"the request names no model; this trial's is {trial.model_name!r}", 400, "invalid_request"
    message = (
        f"this trial's model is {trial.model_name!r}, and the request asks for "
        f"{exchange.other_model[:LONGEST_NAME]!r}: a framework asks the model that it is given; "
        "`bench run --allow-model NAME` allows another one"
    )
    return message, 404, "model_not_found"


def _names_its_model(trial: OpenTrial) -> bool:
    """Return whether the trial's model has a name that no endpoint lists."""
    return trial.model is not None or trial.model_name != trial.registration.model


def _models(trial: OpenTrial) -> dict[str, Any]:
    entry = {"id": trial.model_name, "object": "model", "owned_by": "trialbed"}
    return {"object": "list", "data": [{**entry, "created": int(trial.opened_at.timestamp())}]}


def _past_limit(trial: OpenTrial, exchange: RecordedExchange) -> str:
    """Return the reason why a request is refused.

    Frameworks take some words for a reason to ask again or to condense the conversation: those about rates, about too
    many of something, and about the length of a context. The name of the setting is not among them.
    """
    limits, name = trial.registration.limits, exchange.limit
    if name == "max_trial_tokens":
        most = trial.registration.max_trial_tokens
        return f"this trial is over: its model has used {trial.tokens} tokens, and its setting {name} is {most}"
    if name == "timeout":
        seconds = f"{limits.timeout:g}" if limits is not None else "0"
        return f"this trial is over: it has taken longer than the {seconds} s that its setting {name} allows"
    most = limits.max_steps if limits is not None else 0
    return f"this trial is over: the model was asked {most} times, which is all that its setting {name} allows"
