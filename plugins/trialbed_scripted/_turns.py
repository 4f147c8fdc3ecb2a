"""What a model says in one turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from trialbed.wire import Call
from trialbed.wire.dialects.chat_completions import Completion, usage_document

if TYPE_CHECKING:
    from trialbed.records import FilledArgument, LostCall, Usage

USAGE: Mapping[str, Any] = MappingProxyType(usage_document(11, 3))
"""The tokens that a turn reports unless it says otherwise."""


@dataclass(frozen=True)
class Turn:
    """One message of a model: a text, calls, or both.

    Attributes:
        finish_reason: empty for the usual one of such a message; None leaves the answer unfinished.
        usage: as reported; None reports none.
        reasoning: what a reasoning model sends before its answer.
        logprobs: of the choice; None if there are none.
        fields: further fields of the message, as vendors add them.
        id: what the completion's id ends with; empty for the request's number.
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
    logprobs: Mapping[str, Any] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    instead: str = ""
    played: tuple[int, ...] = ()
    lost: tuple[LostCall, ...] = ()
    filled: tuple[FilledArgument, ...] = ()

    def completion(
        self, *, call_id: Callable[[int], str] = "call_{}".format, raw: bool = False, **more: Any
    ) -> Completion:
        """Return the completion that says this.

        Args:
            call_id: the id of a call that has none, by its place.
            raw: whether it answers a raw prompt: its calls stand in its text as Kimi models write them.
            more: further arguments of ``Completion``.
        """
        usual = "tool_calls" if self.calls else "stop"
        calls = tuple(replace(call, id=call.id or call_id(place)) for place, call in enumerate(self.calls))
        return Completion(
            content=f"{self.text or ''}{_write_out(calls)}" if raw else self.text,
            calls=() if raw else calls,
            finish_reason=self.finish_reason if self.finish_reason != "" else usual,
            usage=None if self.usage is None else dict(self.usage),
            reasoning="" if raw else self.reasoning,
            raw=raw,
            **{"message_fields": self.fields, **more},
        )


def ask(*calls: Call, text: str | None = None, usage: Usage | Mapping[str, Any] | None = USAGE, **more: Any) -> Turn:
    """Return a turn that asks for these calls, with a text where one is given.

    Args:
        usage: the tokens that it reports; None if it reports none.
        more: further attributes of the turn.
    """
    if usage is not None and not isinstance(usage, Mapping):
        usage = usage_document(usage.prompt_tokens, usage.completion_tokens)
    return Turn(text, calls, usage=usage, **more)


def say(text: str | None, *, usage: Usage | Mapping[str, Any] | None = USAGE, **more: Any) -> Turn:
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


def _write_out(calls: tuple[Call, ...]) -> str:
    if not calls:
        return ""
    written = "".join(
        f"<|tool_call_begin|>functions.{call.name}:{place}<|tool_call_argument_begin|>{call.arguments}<|tool_call_end|>"
        for place, call in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{written}<|tool_calls_section_end|>"
