"""Has a trial's model answer in the gateway, where it is none of an endpoint."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from trialbed.contracts import ModelQuestion, ModelReply, ReplyMissing, TrialModel
from trialbed.wire import ModelAnswer, ModelRequest
from trialbed.wire.dialects import Dialect
from trialbed.wire.dialects.responses import KeptResponses
from trialbed_scripted import Response
from trialbed_server._clock import Clock
from trialbed_server.gateway.response import EVENTS, ResponseWriter
from trialbed_server.trials import OpenTrial

JSON = "application/json"

logger = logging.getLogger(__name__)


async def answer(
    trial: OpenTrial,
    model: TrialModel,
    clock: Clock,
    writer: ResponseWriter,
    kept: KeptResponses,
    forward: Callable[[], Awaitable[None]],
) -> None:
    """Answer one request of a trial with its model's words, and pass the answer on to it.

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
        size = exchange.size
        served = exchange.whole_answer()
        if served is not None:
            size, recorded = size + len(served.body), exchange.recorded is not None
            kept.keep(question.request, exchange.document, size, recorded=recorded)
    finally:
        model.note_answer(question, served)


async def _answers(
    question: ModelQuestion, trial: OpenTrial, model: TrialModel, clock: Clock, writer: ResponseWriter
) -> bool:
    """Answer with the model's words; return False where it leaves that to the endpoint.

    A model that raises an exception is broken, which is no framework's fault.
    """
    try:
        reply = await model.answer(question)
    except ReplyMissing as missing:
        await writer.error(str(missing), 400, "invalid_request_error", "replay", code="not_recorded")
        return True
    except Exception as error:
        logger.exception("the model of trial %s failed", trial.registration.trial)
        message = f"the model {trial.registration.model!r} failed: {type(error).__name__}: {error}"
        await writer.error(message, 500, "server_error", "gateway")
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
    if reply.body is None:
        return Response.answer(_sign(reply, trial), request, spoken)
    # Some endpoints answer a request for a stream with a document.
    events = request.stream and not reply.body.lstrip().startswith(b"{")
    return Response((reply.body,), content_type=EVENTS if events else JSON, sized=not events)


def _sign(reply: ModelReply, trial: OpenTrial) -> ModelAnswer:
    """The answer with the trial's model and time, where it names no model itself."""
    if reply.answer.model:
        return reply.answer
    return replace(reply.answer, created=int(trial.opened_at.timestamp()), model=trial.model_name)
