"""Plays a scripted model in the gateway."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trialbed.records import Usage
from trialbed.wire import ModelRequest
from trialbed.wire.dialects.chat_completions import Completion, usage_document
from trialbed.wire.estimates import estimated_tokens
from trialbed_scripted.policies.planned_calls import Tools
from trialbed_scripted.policies.policies import POLICIES, PolicyInput, Turn
from trialbed_server._clock import Clock
from trialbed_server.gateway.response import EVENTS_TYPE, ResponseWriter
from trialbed_server.trials import OpenTrial

PREFIX = "scripted:"

SLOW_FIRST = 0.5
"""Seconds before the first byte of ``scripted:slow``."""

SLOW_CHUNK = 0.02
"""Seconds between the chunks of its streams."""


def is_scripted(model: str) -> bool:
    """Whether a model name is a scripted model's."""
    return model.startswith(PREFIX)


def unknown_policy(model: str) -> str | None:
    """The problem with a scripted model's name; None if it is valid."""
    policy = model.removeprefix(PREFIX)
    return None if policy in POLICIES else f"there is no policy {policy!r}; choose one of {', '.join(POLICIES)}"


class ScriptedModel:
    """Plays a trial's policy; knows nothing but its script and the conversation it is sent."""

    def __init__(self, trial: OpenTrial, clock: Clock) -> None:
        registration = trial.registration
        self._trial = trial
        self._clock = clock
        self._policy = registration.model.removeprefix(PREFIX)

    async def complete(self, request: ModelRequest, index: int, writer: ResponseWriter) -> None:
        """Answer one request, the ``index``-th of the trial."""
        if request.problem:
            await writer.error(request.problem, 400, "invalid_request_error", "request")
            return
        slow = self._policy == "slow"
        turn = self._turn(request)
        self._trial.note_script(turn.played, turn.lost, turn.filled)
        completion = completion_of(
            turn,
            identity=f"{self._trial.registration.trial}#{index}",
            created=int(self._trial.opened_at.timestamp()),
            model=self._trial.model_name,
        )
        await self._clock.sleep(SLOW_FIRST if slow else 0)
        usage = estimated_usage(request, completion.message())
        completion = replace(completion, usage=usage_document(usage.prompt_tokens, usage.completion_tokens))
        if not request.stream:
            await writer.document(completion.document())
            return
        await writer.start(200, [EVENTS_TYPE, (b"cache-control", b"no-cache")])
        for event in completion.events(with_usage=request.wants_usage):
            await writer.write(event)
            await self._clock.sleep(SLOW_CHUNK if slow else 0)
        await writer.finish()

    def _turn(self, request: ModelRequest) -> Turn:
        # Like a real model: no tool calls where the request allows none.
        offered = () if request.tool_choice.mode == "none" else request.tools
        registration = self._trial.registration
        return POLICIES[self._policy](
            PolicyInput(registration.script, Tools(registration.tools, offered), request.messages)
        )


def completion_of(turn: Turn, *, identity: str, created: int, model: str) -> Completion:
    """A turn as a completion, without usage.

    Args:
        identity: what the ids are made of; the same for the same request of the same trial.
        created: seconds since 1970.
    """

    def digest(part: object) -> str:
        return hashlib.sha256(f"{identity}#{part}".encode()).hexdigest()[:24]

    return Completion(
        model=model,
        id=f"chatcmpl-{digest('')}",
        created=created,
        content=None if turn.calls else turn.text,
        calls=tuple(replace(call, id=f"call_{digest(number)}") for number, call in enumerate(turn.calls)),
        finish_reason="tool_calls" if turn.calls else "stop",
        message_fields={"refusal": None},
        choice_fields={"logprobs": None},
    )


def estimated_usage(request: ModelRequest, message: Mapping[str, Any]) -> Usage:
    """An estimate, from the conversation and the tools of the request, and the answer."""
    return Usage(prompt_tokens=estimated_tokens(request.prompt), completion_tokens=estimated_tokens(message))
