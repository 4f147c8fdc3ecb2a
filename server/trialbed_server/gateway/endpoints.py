"""The gateway's routes, under ``/v1`` and ``/t/{trial}/v1``."""

from __future__ import annotations

import logging

from starlette.types import Receive, Scope, Send

from trialbed.records import Cause
from trialbed_server._clock import Clock
from trialbed_server._http import BodyTooLarge, ClientGone, openai_error_response, read_body
from trialbed_server._metrics import Metrics
from trialbed_server.gateway.connection import Request
from trialbed_server.gateway.exchange import Exchange
from trialbed_server.gateway.redaction import Redactor
from trialbed_server.gateway.response import ResponseWriter, while_connected
from trialbed_server.gateway.scripted.model import ScriptedModel, is_scripted
from trialbed_server.gateway.upstream import Upstream
from trialbed_server.trials import Trial, TrialRefused, TrialRegistry, Untagged

logger = logging.getLogger(__name__)

CHAT = "chat/completions"
MODELS = "models"

UNANSWERED: frozenset[Cause | None] = frozenset({"endpoint", "gateway"})
"""Causes with which a request does not count as one of the trial's steps: the model was not reached."""

NO_UPSTREAM = (
    "this server has no upstream endpoint; start it with `bench serve --base-url URL`, "
    "or open a trial with a scripted model"
)


class Gateway:
    """An ASGI endpoint: finds the request's trial, and answers or forwards and records it.

    Args:
        upstream: where models are; None if the server knows scripted models only.
        max_body: largest request in bytes.
        silence: seconds that the upstream may be silent where no trial says how long.
    """

    def __init__(
        self,
        trials: TrialRegistry,
        untagged: Untagged,
        upstream: Upstream | None,
        clock: Clock,
        metrics: Metrics,
        *,
        max_body: int,
        silence: float,
    ) -> None:
        self._trials = trials
        self._untagged = untagged
        self._upstream = upstream
        self._clock = clock
        self._metrics = metrics
        self._max_body = max_body
        self._silence = silence

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            trial = self._trials.of(scope["path_params"].get("trial"))
            body = await read_body(scope, receive, self._max_body)
        except ClientGone:
            return
        except TrialRefused as error:
            await openai_error_response(str(error), error.status)(scope, receive, send)
        except BodyTooLarge:
            message = f"the request is larger than {self._max_body} bytes"
            await openai_error_response(message, 413)(scope, receive, send)
        else:
            await self._serve(trial, body, scope, receive, send)

    async def _serve(self, trial: Trial | None, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = self._exchange(trial, body)
        work = self._answer(trial, body, scope, ResponseWriter(send, exchange))
        if trial is None:
            await while_connected(receive, exchange, work)
            self._note_untagged(exchange, scope)
        else:
            if scope["path_params"]["path"] != MODELS:
                trial.model_calls.append(exchange)
            with trial.in_use():
                await while_connected(receive, exchange, work)
            if exchange.step and exchange.cause in UNANSWERED:
                trial.give_back_step()
        self._metrics.model_request(exchange.status)

    def _note_untagged(self, exchange: Exchange, scope: Scope) -> None:
        call = exchange.record()
        if scope["path_params"]["path"] != MODELS:
            self._untagged.add_model_call(call)
        tokens = f"{call.usage.prompt_tokens} + {call.usage.completion_tokens}" if call.usage else "unknown"
        logger.info("no trial: %s %.100r, status %s, tokens %s", scope["method"], scope["path"], call.status, tokens)

    def _exchange(self, trial: Trial | None, body: bytes) -> Exchange:
        redactor = self._upstream.redactor() if self._upstream is not None else Redactor(None)
        if trial is None:
            return Exchange(self._untagged.elapsed, self._untagged.budget(), redactor.whole(body))
        return Exchange(trial.elapsed, trial.budget, redactor.whole(body), trial.tool_names)

    async def _answer(self, trial: Trial | None, body: bytes, scope: Scope, writer: ResponseWriter) -> None:
        path = scope["path_params"]["path"]
        if (path, scope["method"]) not in ((CHAT, "POST"), (MODELS, "GET")):
            message = f"{scope['method']} /v1/{path} is not served here; POST /v1/{CHAT} and GET /v1/{MODELS} are"
            await writer.error(message, 404, "invalid_request_error", "request")
        elif path == CHAT and trial is not None and not self._takes_step(trial, writer.exchange):
            await writer.error(_past_limit(trial), 403, "invalid_request_error", "limit", code="max_steps")
        elif trial is not None and is_scripted(trial.registration.model):
            await self._play(trial, path, writer)
        elif self._upstream is None:
            await writer.error(NO_UPSTREAM, 404, "invalid_request_error", "gateway")
        else:
            query = scope["query_string"].decode("latin-1")
            target = f"/{path}?{query}" if query else f"/{path}"
            silence = self._silence if trial is None else trial.timeout(self._silence)
            await self._upstream.forward(Request(scope["method"], target, scope["headers"], body, silence), writer)

    def _takes_step(self, trial: Trial, exchange: Exchange) -> bool:
        exchange.step = trial.take_step()
        return exchange.step

    async def _play(self, trial: Trial, path: str, writer: ResponseWriter) -> None:
        if path == MODELS:
            entry = {"id": trial.registration.model, "object": "model", "owned_by": "trialbed"}
            created = int(trial.opened_at.timestamp())
            await writer.document({"object": "list", "data": [{**entry, "created": created}]})
            return
        index = trial.model_calls.index(writer.exchange)
        await ScriptedModel(trial, self._clock).complete(writer.exchange.document, index, writer)


def _past_limit(trial: Trial) -> str:
    limits = trial.registration.limits
    most = limits.max_steps if limits is not None else 0
    # Some frameworks take other words, such as those about rates or tokens, for a reason to ask again.
    return f"this trial is over: the model was asked {most} times, which is all that its setting max_steps allows"
