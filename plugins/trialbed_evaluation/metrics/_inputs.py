"""Reads the inputs of the metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from trialbed.errors import DataError, UsageError
from trialbed_evaluation.conversations import (
    Message,
    Sample,
    ToolCall,
    calls_in,
    is_message,
    read_calls,
    read_messages,
    read_record,
    read_reference,
)

Compat = Literal["ragas"]
Order = Literal["strict", "flexible"]


def made_calls(value: Any, place: str = "predicted") -> Sequence[Any]:
    """The calls made: of a sample, a conversation, or a list of calls. Lists of ready calls come back as they are."""
    if type(value) is list:
        for item in value:
            if type(item) is not ToolCall:
                break
        else:
            return value
        if value and is_message(value[0]):
            return calls_in(read_messages(value, place))
        return read_calls(value, place)
    value = as_sample(value)
    if isinstance(value, Sample):
        return value.calls
    conversation = conversation_in(value)
    if conversation is not None:
        return made_calls(list(conversation), f"{place}.user_input")
    return made_calls(list(value), place) if isinstance(value, tuple) else read_calls(value, place)


def conversation_in(value: Any) -> Any:
    """Return the messages of one of Ragas's samples; None for any other value."""
    return getattr(value, "user_input", None)


def as_sample(value: Any) -> Any:
    """Return a record, such as a line of a file, as the sample that it is; any other value as it is."""
    return read_record(value, "sample") if isinstance(value, Mapping) else value


def reference_in(value: Any, key: str) -> Any:
    """Read a right value of a sample, such as ``reference_tool_calls``; None where it has none."""
    value = as_sample(value)
    if isinstance(value, Sample):
        return getattr(value, {"reference_tool_calls": "reference", "reference": "reference_goal"}.get(key, key))
    return getattr(value, key, None)


def right_groups(value: Any) -> tuple[tuple[ToolCall, ...], ...]:
    """Return the calls wanted, as groups; a call by itself is a group of one."""
    return tuple(part if isinstance(part, tuple) else (part,) for part in read_reference(value, "reference"))


def right_calls(value: Any) -> Sequence[Any]:
    """Return the calls wanted in one list, for rules that know no groups."""
    if type(value) is not list:
        raise DataError(f"reference: must be a list of calls, not {type(value).__name__}")
    for item in value:
        if type(item) is not ToolCall:
            break
    else:
        return value
    flat: list[ToolCall] = []
    for part in read_reference(value, "reference"):
        if type(part) is ToolCall:
            flat.append(part)
        else:
            flat += part  # type: ignore[arg-type]
    return flat


def messages_of(value: Any) -> tuple[Message, ...]:
    """Return the messages of a sample or a list.

    Raises:
        DataError: it has no messages, or they are malformed.
    """
    value = as_sample(value)
    if isinstance(value, Sample):
        if value.messages is None:
            raise DataError(f"{value.place or 'conversation'}: this metric needs the messages of the conversation")
        return value.messages
    conversation = conversation_in(value)
    return read_messages(value if conversation is None else conversation, "conversation")


def check_compat(compat: str | None) -> None:
    """Check the name of the program whose rules are asked for.

    Raises:
        UsageError: the program is not known.
    """
    if compat not in (None, "ragas"):
        raise UsageError(f"compat: must be 'ragas' or None, not {compat!r}")


def check_order(order: str) -> None:
    """Check the order that is asked for.

    Raises:
        UsageError: the order is not known.
    """
    if order not in ("strict", "flexible"):
        raise UsageError(f"order: must be 'strict' or 'flexible', not {order!r}")
