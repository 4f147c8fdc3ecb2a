"""What the model on the stage says."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trialbed.records import Usage

if TYPE_CHECKING:
    from trialbed_adapter_kit._recording import ModelRequest

USAGE = Usage(prompt_tokens=11, completion_tokens=3)
"""What the model reports for a message, if the script does not say otherwise."""

AFTER_THE_END = "The script has ended."
"""What the model says when it is asked more often than the script has lines."""


@dataclass(frozen=True)
class Call:
    """A tool call that the model wants.

    Attributes:
        arguments: as text, which need not be JSON.
        id: made up from the request's number and the call's place if empty.
    """

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True)
class Said:
    """A message of the model.

    Attributes:
        usage: the tokens that it reports; None where it reports none.
        reason: the finish reason; if empty, the one that is usual for such a message.
        extras: further fields of the message, as vendors add them.
    """

    text: str | None = None
    calls: tuple[Call, ...] = ()
    usage: Usage | None = USAGE
    reason: str = ""
    extras: Mapping[str, Any] = field(default_factory=dict)

    def message(self, number: int) -> dict[str, Any]:
        """The message as it stands in the completion.

        Args:
            number: of the request that it answers, from 0.
        """
        message: dict[str, Any] = {"role": "assistant", "content": self.text, **self.extras}
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": call.id or f"call_{number}_{place}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for place, call in enumerate(self.calls)
            ]
        return message

    def completion(self, number: int, model: str) -> dict[str, Any]:
        """The whole document of a chat completion."""
        reason = self.reason or ("tool_calls" if self.calls else "stop")
        choice = {"index": 0, "message": self.message(number), "finish_reason": reason, "logprobs": None}
        document = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [choice],
        }
        return document | ({"usage": _usage(self.usage)} if self.usage else {})


@dataclass(frozen=True)
class Raw:
    """A response that is no completion: a status, a body and its type."""

    status: int = 200
    body: str = ""
    content_type: str = "application/json"


@dataclass(frozen=True)
class Forever:
    """A line that is said again and again."""

    line: Said | Raw


Line = str | Said | Raw | Forever | Callable[["ModelRequest"], Awaitable[Said | Raw]]
"""One entry of a script: a text is the model's answer; a function makes the line up when it is its turn."""


class Script:
    """The lines of one trial, in order."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._next = 0

    async def line(self, request: ModelRequest) -> Said | Raw:
        """What the model says to this request."""
        if self._next >= len(self._lines):
            return Said(AFTER_THE_END)
        line = self._lines[self._next]
        if isinstance(line, Forever):
            return line.line
        self._next += 1
        if isinstance(line, str):
            return Said(line)
        return line if isinstance(line, (Said, Raw)) else await line(request)


def says(text: str | None, *, usage: Usage | None = USAGE) -> Said:
    """The model answers in text."""
    return Said(text, usage=usage)


def asks(*calls: Call, text: str | None = None, usage: Usage | None = USAGE) -> Said:
    """The model wants these calls made, all in one turn; ``text`` stands beside them."""
    return Said(text, calls, usage)


def call(name: str, arguments: Mapping[str, Any] | str = "{}", *, id: str = "") -> Call:  # noqa: A002 - the wire's word
    """A call with these arguments; a text is sent as it is."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return Call(name, text, id)


def fails(status: int) -> Raw:
    """The model's endpoint refuses, as vendors do."""
    error = {"message": f"the stage refuses with {status}", "type": "stage_error", "code": None, "param": None}
    return Raw(status, json.dumps({"error": error}))


def forever(line: Said | Raw) -> Forever:
    """The model says this to every request from here on."""
    return Forever(line)


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }
