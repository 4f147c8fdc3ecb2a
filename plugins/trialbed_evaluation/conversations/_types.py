"""The types that every format of conversations is read into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from trialbed.tool_calls import ToolCall as ToolCall

Role = Literal["system", "user", "assistant", "tool"]


Reference = Sequence["ToolCall | Sequence[ToolCall]"]
"""The calls that are right, in order. An inner sequence is a parallel group, whose calls may be made in any order."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation.

    Attributes:
        content: its text; parts that are not text appear in it as ``[image_url]``, by their kind.
        calls: those of an assistant's message. None where the message has no list of calls.
        call_id: the call that a tool's message answers; empty where that is not known.
    """

    role: Role
    content: str = ""
    calls: tuple[ToolCall, ...] | None = None
    call_id: str = ""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A conversation, or the calls made in it, with its right values.

    Attributes:
        id: as the file gives it, else its place.
        place: the file and line it was read from.
        format: the format it was read from.
        messages: None where the format has calls only.
        calls: every call that was made, in order.
        reference: the calls that are right; None where that is not known.
        reference_topics: the topics that the assistant is to keep to.
        reference_goal: the outcome that the user wanted.
        tools: name of a tool -> JSON Schema of its arguments.
        steps: recorded outputs of a model's steps, by the step's name.
        other: keys of the file that have no meaning here.
        unrecorded: the parts of the calls that the file lacks, in words; empty where it has all of them.
    """

    id: str
    place: str = ""
    format: str = ""
    messages: tuple[Message, ...] | None = None
    calls: tuple[ToolCall, ...] = ()
    reference: tuple[ToolCall | tuple[ToolCall, ...], ...] | None = None
    reference_topics: tuple[str, ...] | None = None
    reference_goal: str | None = None
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    steps: Mapping[str, Any] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict)
    unrecorded: str = ""
