"""What a policy sees and what it plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trialbed.records import ScriptedCall


@dataclass(frozen=True)
class Call:
    """A tool call as a model sends it: ``arguments`` is text, which need not be JSON."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Turn:
    """One message of the model: tool calls, or a text without any."""

    calls: tuple[Call, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Scene:
    """All that a policy may know.

    Attributes:
        script: the gold calls, in order.
        offered: the tools on offer: name -> JSON Schema of the arguments, in the order of the request.
        messages: the conversation so far, in OpenAI's form.
    """

    script: Sequence[ScriptedCall]
    offered: Mapping[str, Mapping[str, Any]]
    messages: Sequence[Any]

    @property
    def position(self) -> int:
        """The number of turns that the model has had."""
        return sum(isinstance(message, dict) and message.get("role") == "assistant" for message in self.messages)
