"""A policy over known calls, as a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trialbed.errors import UsageError
from trialbed.records import ScriptedCall, ToolSpec
from trialbed.wire import Call, ModelAnswer, ModelRequest, lenient_json, usage_counts
from trialbed.wire.dialects import Dialect
from trialbed.wire.estimates import estimated_tokens
from trialbed_scripted._requests import ReceivedRequest
from trialbed_scripted._turns import Turn
from trialbed_scripted.policies._ending import as_demanded
from trialbed_scripted.policies._fields import FieldForm, one_call, read_form
from trialbed_scripted.policies._histories import TextHistories
from trialbed_scripted.policies._policies import POLICIES, PolicyInput
from trialbed_scripted.policies._tools import Tools


class PolicyModel:
    """Plays a policy; knows nothing but its script and the conversations it is sent.

    Args:
        name: of a policy.
        script: the right calls, in order.
        tools: those that the calls are of; their names and descriptions identify them in a request.
        finish: the framework's own tool that ends; empty where it is to be found, or a text ends.
    """

    def __init__(
        self, name: str, script: Sequence[ScriptedCall], tools: Sequence[ToolSpec] = (), finish: str = ""
    ) -> None:
        self._policy = POLICIES[name]
        self._script = script
        self._tools = tools
        self._finish = finish
        self._histories = TextHistories(shared=True)

    def __call__(self, request: ReceivedRequest) -> Turn:
        """Take the next turn, with an estimate of its usage."""
        turn = self.turn(request.asked, self._histories)
        return replace(turn, usage=estimate_usage(request.asked, turn.answer(), request.spoken))

    def turn(self, request: ModelRequest, histories: TextHistories | None = None) -> Turn:
        """Take the next turn, as far as the conversation has come.

        Args:
            histories: of the trial, for frameworks that write calls and results as text.
        """
        form = read_form(request)
        if form is not None:
            return self._fill(form)
        # Like a real model: no tool calls where the request allows none.
        offered = (
            () if request.tool_choice.mode == "none" else [one for one in request.tools if one.name != self._finish]
        )
        messages = request.messages if histories is None else histories.read(request.messages)
        choice = request.tool_choice
        # A named tool changes the end of a turn, not the plan.
        allowed = frozenset(choice.allowed) if choice.allowed else None
        own = self._policy(PolicyInput(self._script, Tools(self._tools, offered, allowed), messages))
        turn = as_demanded(own, request, self._tools, self._finish)
        if histories is not None and turn.calls:
            histories.note(request.messages, len(turn.calls))
        return turn

    def _fill(self, form: FieldForm) -> Turn:
        """Take the next turn of a conversation in which tools are offered and called in words."""
        tools = Tools(self._tools, form.tools if form.is_step else ())
        first, turn = (
            self._policy(PolicyInput(self._script, tools, messages)) for messages in (form.messages[:1], form.messages)
        )
        return form.fill(one_call(first, turn, form))


def policy(name: str, *calls: Call) -> PolicyModel:
    """Return a policy over these calls: ``policy("wrong-args", call("find", id=7))``.

    Raises:
        UsageError: there is no such policy, or the arguments of a call are not a JSON object.
    """
    if name not in POLICIES:
        raise UsageError(f"there is no policy {name!r}; choose one of {', '.join(POLICIES)}")
    return PolicyModel(name, [_as_scripted(call) for call in calls])


def estimate_usage(request: ModelRequest, answer: ModelAnswer, spoken: Dialect) -> dict[str, int]:
    """Estimate the usage from the conversation and the tools of the request, and from the answer."""
    return usage_counts(estimated_tokens(request.prompt), estimated_tokens(spoken.write_message(answer)))


def _as_scripted(call: Call) -> ScriptedCall:
    arguments = lenient_json(call.arguments)
    if not isinstance(arguments, dict):
        raise UsageError(f"the arguments of {call.name} are not a JSON object, which a policy needs")
    return ScriptedCall(name=call.name, arguments=arguments)
