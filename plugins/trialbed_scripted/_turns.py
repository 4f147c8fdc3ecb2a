"""The turns of a model: texts, calls, or both."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from trialbed.wire import Call, ModelAnswer, TokenLogprob, usage_counts

if TYPE_CHECKING:
    from trialbed.records import FilledArgument, LostCall, Usage

USAGE: Mapping[str, Any] = MappingProxyType(usage_counts(11, 3))
"""The default usage of a turn, in tokens."""


@dataclass(frozen=True)
class ModelTurn:
    """One message of a model, with a text, calls, or both.

    Attributes:
        finish_reason: empty for the usual reason of such a message; None leaves the answer unfinished.
        usage: the reported usage, if any.
        reasoning: the text that reasoning models send before the answer.
        refusal: the model's text to refuse the request.
        logprobs: the log probabilities of the text's tokens, if reported.
        fields: further fields of the message, such as vendors add.
        id: the answer's id; empty to use the request's number.
        instead: the text that a fault sends instead of the calls.
        played: the positions of its calls in a policy's script, whether right or spoiled.
        lost: the earlier calls of a policy that cannot be made.
        filled: the arguments that had to be made up for a policy's calls.
    """

    text: str | None = None
    calls: tuple[Call, ...] = ()
    finish_reason: str | None = ""
    usage: Mapping[str, Any] | None = None
    reasoning: str = ""
    refusal: str = ""
    logprobs: tuple[TokenLogprob, ...] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    instead: str = ""
    played: tuple[int, ...] = ()
    lost: tuple[LostCall, ...] = ()
    filled: tuple[FilledArgument, ...] = ()

    def answer(self, *, call_id: Callable[[int], str] | None = None, **more: Any) -> ModelAnswer:
        """Return the turn as an answer.

        Args:
            call_id: returns an id for a call without one, by its position; the dialect's ids by default.
            more: further attributes of the answer.
        """
        usual = "tool_calls" if self.calls else "stop"
        calls = self.calls
        if call_id is not None:
            calls = tuple(replace(call, id=call.id or call_id(place)) for place, call in enumerate(calls))
        return ModelAnswer(
            content=self.text,
            calls=calls,
            finish_reason=self.finish_reason if self.finish_reason != "" else usual,
            usage=None if self.usage is None else dict(self.usage),
            reasoning=self.reasoning,
            refusal=self.refusal,
            logprobs=self.logprobs,
            **{"fields": self.fields, **more},
        )


def ask(
    *calls: Call, text: str | None = None, usage: Usage | Mapping[str, Any] | None = USAGE, **more: Any
) -> ModelTurn:
    """Return a turn that makes these calls, with an optional text.

    Args:
        usage: the reported tokens; None reports nothing.
        more: further attributes of the turn.
    """
    if usage is not None and not isinstance(usage, Mapping):
        usage = usage_counts(usage.prompt_tokens, usage.completion_tokens)
    return ModelTurn(text, calls, usage=usage, **more)


def say(text: str | None, *, usage: Usage | Mapping[str, Any] | None = USAGE, **more: Any) -> ModelTurn:
    """Return a turn with a text."""
    return ask(text=text, usage=usage, **more)


def call(name: str, arguments: Mapping[str, Any] | str | None = None, id: str = "", /, **named: Any) -> Call:  # noqa: A002
    """Return a call with these arguments, given as a mapping or by name. A text is sent unchanged.

    Args:
        id: the call's id. By default, one is made up.
    """
    if isinstance(arguments, str):
        return Call(name, arguments, id)
    return Call(name, json.dumps({**(arguments or {}), **named}, ensure_ascii=False), id)
