"""The driver of scripted models: ``scripted:gold``."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from trialbed.contracts import ModelDriver, ModelInfo, ModelQuestion, ModelReply, TrialModel
from trialbed.models import unknown_model
from trialbed.records import COMMON_NAME, FilledArgument, LostCall, TrialRegistration, WireLog
from trialbed.settings import RunSettings
from trialbed.wire import ModelAnswer
from trialbed_scripted._turns import Turn
from trialbed_scripted.policies import PolicyModel, TextHistories, estimate_usage, policy_names

SCHEME = "scripted"

SLOW = "slow"
"""The policy whose answers take their time."""

SLOW_FIRST = 0.5
"""Seconds before the first byte of ``scripted:slow``."""

SLOW_CHUNK = 0.02
"""Seconds between the chunks of its streams."""


class ScriptedModels(ModelDriver):
    """Models that play a known policy over a query's expected calls, without a key."""

    contract = "1"

    def names(self, settings: RunSettings) -> Sequence[str]:  # noqa: ARG002 - they are the same for all
        """The policies."""
        return policy_names()

    def describe(self, name: str, settings: RunSettings) -> ModelInfo:  # noqa: ARG002 - it is the same for all
        """Refuse a policy that does not exist."""
        _check(name)
        return ModelInfo(told_name=COMMON_NAME, costs=False, deterministic=True, cached=False)

    def begin(self, name: str, registration: TrialRegistration) -> TrialModel:
        """The policy over the trial's script."""
        _check(name)
        return ScriptedTrialModel(name, registration)


class ScriptedTrialModel(TrialModel):
    """Plays a policy in one trial, and notes the calls of its script that it could not make."""

    is_strict = True

    def __init__(self, policy: str, registration: TrialRegistration) -> None:
        self._slow = policy == SLOW
        self._policy = PolicyModel(policy, registration.script, registration.tools, registration.finish_tool)
        self._trial = registration.trial
        self._histories = TextHistories()
        self._played: set[int] = set()
        self._lost: dict[int, LostCall] = {}
        self._filled: dict[tuple[int | None, str], FilledArgument] = {}

    async def answer(self, question: ModelQuestion) -> ModelReply:
        """Take the turn that the conversation has come to."""
        turn = self._policy.turn(question.request, self._histories)
        self._note(turn)
        answer = answer_of(turn, f"{self._trial}#{question.place}")
        answer = replace(answer, usage=estimate_usage(question.request, answer, question.dialect))
        return ModelReply(answer, SLOW_FIRST, SLOW_CHUNK) if self._slow else ModelReply(answer)

    def complete(self, log: WireLog) -> WireLog:
        """Add the calls that could not be played, and the arguments that were made up."""
        # A request without tools may come between others, in which every call is made.
        lost = tuple(call for place, call in sorted(self._lost.items()) if place not in self._played)
        return log.model_copy(update={"lost": lost, "filled": tuple(self._filled.values())})

    def _note(self, turn: Turn) -> None:
        self._played.update(turn.played)
        for call in turn.lost:
            self._lost.setdefault(call.position, call)
        for argument in turn.filled:
            self._filled.setdefault((argument.position, argument.argument), argument)


def answer_of(turn: Turn, identity: str) -> ModelAnswer:
    """Return a turn as an answer, without usage, model and time.

    Args:
        identity: the text from which the ids are made; the same for the same request of the same trial.
    """

    def digest(part: object) -> str:
        return hashlib.sha256(f"{identity}#{part}".encode()).hexdigest()[:24]

    return turn.answer(call_id=lambda place: f"call_{digest(place)}", id=digest(""), fields={"refusal": None})


def _check(name: str) -> None:
    if name not in policy_names():
        raise unknown_model(SCHEME, name, policy_names())
