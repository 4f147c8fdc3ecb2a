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
"""The tokens that a turn reports unless it says otherwise."""


@dataclass(frozen=True)
class ModelTurn:
    """One message of a model: a text, calls, or both.

    Attributes:
        finish_reason: empty for the usual one of such a message; None leaves the answer unfinished.
        usage: as reported; None reports none.
        reasoning: sent before the answer, as reasoning models do.
        refusal: the model's own words with which it refuses.
        logprobs: of the tokens of the text; None reports none.
        fields: further fields of the message, as vendors add them.
        id: of the answer; empty for the request's number.
        instead: the text that a fault sends in place of the calls.
        played: the places in a policy's script of the calls that it makes, right or spoiled.
        lost: the calls of a policy that would come before it and cannot be made.
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
        """Return the answer that says this.

        Args:
            call_id: makes the id of a call that has none, by its place; by default the dialect does.
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
    """Return a turn that asks for these calls, with a text where one is given.

    Args:
        usage: the tokens that it reports; None if it reports none.
        more: further attributes of the turn.
    """
    if usage is not None and not isinstance(usage, Mapping):
        usage = usage_counts(usage.prompt_tokens, usage.completion_tokens)
    return ModelTurn(text, calls, usage=usage, **more)


def say(text: str | None, *, usage: Usage | Mapping[str, Any] | None = USAGE, **more: Any) -> ModelTurn:
    """Return a turn that is a text."""
    return ask(text=text, usage=usage, **more)


def call(name: str, arguments: Mapping[str, Any] | str | None = None, id: str = "", /, **named: Any) -> Call:  # noqa: A002
    """Return a call with these arguments: as a mapping or by their names; a text is sent as it is.

    Args:
        id: of the call; one is made up where it has none.
    """
    if isinstance(arguments, str):
        return Call(name, arguments, id)
    return Call(name, json.dumps({**(arguments or {}), **named}, ensure_ascii=False), id)
