"""Plays a trial's scripted model in the gateway."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from trialbed.records import SCRIPTED
from trialbed.wire import ModelRequest
from trialbed.wire.dialects.chat_completions import Completion, usage_document
from trialbed_scripted import POLICIES, Turn
from trialbed_scripted.policies import PolicyModel, estimate_usage
from trialbed_server._clock import Clock
from trialbed_server.gateway.response import EVENTS_TYPE, ResponseWriter
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
    turn = PolicyModel(policy, registration.script, registration.tools).turn(request)
    trial.note_script(turn.played, turn.lost, turn.filled)
    created = int(trial.opened_at.timestamp())
    completion = completion_of(turn, f"{registration.trial}#{index}", created=created, model=trial.model_name)
    completion = with_estimate(completion, request)
    slow = policy == "slow"
    await clock.sleep(SLOW_FIRST if slow else 0)
    if not request.stream:
        await writer.document(spoken.write_document(completion))
        return
    await writer.start(200, [EVENTS_TYPE, (b"cache-control", b"no-cache")])
    for event in spoken.write_events(completion, with_usage=request.wants_usage):
        await writer.write(event)
        await clock.sleep(SLOW_CHUNK if slow else 0)
    await writer.finish()


def completion_of(turn: Turn, identity: str, *, created: int, model: str) -> Completion:
    """A turn as a completion, without usage.

    Args:
        identity: what the ids are made of; the same for the same request of the same trial.
        created: seconds since 1970.
    """

    def digest(part: object) -> str:
        return hashlib.sha256(f"{identity}#{part}".encode()).hexdigest()[:24]

    return turn.completion(
        call_id=lambda place: f"call_{digest(place)}",
        id=f"chatcmpl-{digest('')}",
        created=created,
        model=model,
        message_fields={"refusal": None},
        choice_fields={"logprobs": None},
    )


def with_estimate(completion: Completion, request: ModelRequest) -> Completion:
    """The completion with an estimate of its usage."""
    usage = estimate_usage(request, completion.message())
    return replace(completion, usage=usage_document(usage.prompt_tokens, usage.completion_tokens))
