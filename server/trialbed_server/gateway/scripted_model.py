"""Plays a trial's scripted model in the gateway."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial

from trialbed.records import SCRIPTED
from trialbed.wire import ModelAnswer
from trialbed_scripted import POLICIES, Response, Turn
from trialbed_scripted.policies import PolicyModel, estimate_usage
from trialbed_server._clock import Clock
from trialbed_server.gateway.response import ResponseWriter
from trialbed_server.trials import OpenTrial

SLOW_FIRST = 0.5
"""Seconds before the first byte of ``scripted:slow``."""

SLOW_CHUNK = 0.02
"""Seconds between the chunks of its streams."""


def is_scripted(model: str) -> bool:
    """Return whether a model name is a scripted model's."""
    return model.startswith(SCRIPTED)


def unknown_policy(model: str) -> str | None:
    """The problem with a scripted model's name; None if it is valid."""
    policy = model.removeprefix(SCRIPTED)
    return None if policy in POLICIES else f"there is no policy {policy!r}; choose one of {', '.join(POLICIES)}"


async def play(trial: OpenTrial, clock: Clock, index: int, writer: ResponseWriter) -> None:
    """Answer one request, the ``index``-th of the trial."""
    request, spoken = writer.exchange.request, writer.exchange.dialect
    if request.problem:
        await writer.error(request.problem, 400, "invalid_request_error", "request")
        return
    registration = trial.registration
    policy = registration.model.removeprefix(SCRIPTED)
    turn = PolicyModel(policy, registration.script, registration.tools).turn(request, trial.histories)
    trial.note_script(turn.played, turn.lost, turn.filled)
    created = int(trial.opened_at.timestamp())
    answer = answer_of(turn, f"{registration.trial}#{index}", created=created, model=trial.model_name)
    answer = replace(answer, usage=estimate_usage(request, answer, spoken))
    slow = policy == "slow"
    await clock.sleep(SLOW_FIRST if slow else 0)
    response = Response.answer(answer, request, spoken)
    await writer.response(response, pause=partial(clock.sleep, SLOW_CHUNK) if slow else None)


def answer_of(turn: Turn, identity: str, *, created: int, model: str) -> ModelAnswer:
    """Return a turn as an answer, without usage.

    Args:
        identity: the text from which the ids are made; the same for the same request of the same trial.
        created: seconds since 1970.
    """

    def digest(part: object) -> str:
        return hashlib.sha256(f"{identity}#{part}".encode()).hexdigest()[:24]

    return turn.answer(
        call_id=lambda place: f"call_{digest(place)}",
        id=digest(""),
        created=created,
        model=model,
        fields={"refusal": None},
    )
