"""A policy over known calls, as a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trialbed.errors import UsageError
from trialbed.records import ScriptedCall, ToolSpec, Usage
from trialbed.wire import Call, ModelRequest
from trialbed.wire.dialects.chat_completions import usage_document
from trialbed.wire.estimates import estimated_tokens
from trialbed_scripted._requests import ReceivedRequest
from trialbed_scripted._turns import Turn
from trialbed_scripted.policies._policies import POLICIES, PolicyInput
from trialbed_scripted.policies._tools import Tools


class PolicyModel:
    """Plays a policy; knows nothing but its script and the conversation it is sent.

    Args:
        name: of a policy.
        script: the right calls, in order.
        tools: those that the calls are of; what a request offers is told from their names and descriptions.
    """

    def __init__(self, name: str, script: Sequence[ScriptedCall], tools: Sequence[ToolSpec] = ()) -> None:
        self._policy = POLICIES[name]
        self._script = script
        self._tools = tools

    def __call__(self, request: ReceivedRequest) -> Turn:
        """Take the next turn, with an estimate of its usage."""
        turn = self.turn(request.asked)
        usage = estimate_usage(request.asked, turn.completion(model="", id="").message())
        return replace(turn, usage=usage_document(usage.prompt_tokens, usage.completion_tokens))

    def turn(self, request: ModelRequest) -> Turn:
        """Take the next turn, as far as the conversation has come."""
        # Like a real model: no tool calls where the request allows none.
        offered = () if request.tool_choice.mode == "none" else request.tools
        return self._policy(PolicyInput(self._script, Tools(self._tools, offered), request.messages))


def policy(name: str, *calls: Call) -> PolicyModel:
    """Return a policy over these calls: ``policy("wrong-args", call("find", id=7))``.

    Raises:
        UsageError: there is no such policy, or the arguments of a call are not a JSON object.
    """
    if name not in POLICIES:
        raise UsageError(f"there is no policy {name!r}; choose one of {', '.join(POLICIES)}")
    return PolicyModel(name, [_as_scripted(call) for call in calls])


def estimate_usage(request: ModelRequest, message: Mapping[str, Any]) -> Usage:
    """Estimate the usage from the conversation and the tools of the request, and from the answer."""
    return Usage(prompt_tokens=estimated_tokens(request.prompt), completion_tokens=estimated_tokens(message))


def _as_scripted(call: Call) -> ScriptedCall:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise UsageError(f"the arguments of {call.name} are not a JSON object, which a policy needs")
    return ScriptedCall(name=call.name, arguments=arguments)
