"""Reads messages: OpenAI's, Ragas's, LangChain's, those of GenAI spans, and mappings of the same form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trialbed.errors import DataError
from trialbed_evaluation.conversations._calls import items, kind, read_call, read_calls
from trialbed_evaluation.conversations._types import Message, Role, ToolCall

ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
"""Role or type of a message, as formats spell it -> role."""

TEXTS = ("text", "input_text", "output_text")
"""Kinds of content parts that are text."""


def read_message(value: Any, place: str = "message") -> Message:
    """One message.

    Args:
        value: a ``Message``; a mapping with ``role`` (OpenAI) or ``type`` (Ragas, LangChain), ``content`` or ``parts``,
            and ``tool_calls``; or an object with attributes of these names.
        place: where it stands, for errors.

    Raises:
        DataError: it has another form; names the key.
    """
    if type(value) is Message:
        return value
    fields = value if isinstance(value, Mapping) else _attributes(value)
    if fields is None:
        raise DataError(f"{place}: must be a message with role and content, not {kind(value)}")
    role = _role(fields, place)
    content, calls, call_id = _content(fields, place)
    listed = _listed_calls(fields, place)
    if listed is not None or calls:
        calls_made = (*(listed or ()), *calls)
        return Message(role, content, calls_made, call_id)
    return Message(role, content, None, call_id)


def read_messages(value: Any, place: str = "messages") -> tuple[Message, ...]:
    """Return the messages of a list.

    Raises:
        DataError: it is not a list of messages; names the place.
    """
    return tuple(read_message(message, f"{place}[{index}]") for index, message in enumerate(items(value, place)))


def is_message(value: Any) -> bool:
    """Return whether a value looks like a message rather than like a call."""
    if isinstance(value, Mapping):
        if "function" in value or "args" in value or "arguments" in value:
            return False
        return "role" in value or "content" in value or value.get("type") in ROLES
    return isinstance(value, Message) or hasattr(value, "content")


def calls_in(messages: Iterable[Message]) -> tuple[ToolCall, ...]:
    """Return every call that the assistant made, in order."""
    return tuple(call for message in messages if message.role == "assistant" for call in message.calls or ())


def _attributes(value: Any) -> Mapping[str, Any] | None:
    if not hasattr(value, "content"):
        return None
    names = ("role", "type", "content", "tool_calls", "tool_call_id", "additional_kwargs")
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _role(fields: Mapping[str, Any], place: str) -> Role:
    key = "role" if "role" in fields else "type"
    given = fields.get(key)
    if given is None:
        # As Ragas reads messages without a type.
        return "assistant" if fields.get("tool_calls") is not None else "user"
    role = ROLES.get(given) if isinstance(given, str) else None
    if role is None:
        raise DataError(f"{place}.{key}: must be one of {', '.join(ROLES)}, not {given!r}")
    return role


def _listed_calls(fields: Mapping[str, Any], place: str) -> tuple[ToolCall, ...] | None:
    calls = fields.get("tool_calls")
    if not calls:
        # LangChain keeps calls that it could not parse, and those of older versions, in another place.
        kwargs = fields.get("additional_kwargs")
        calls = (kwargs.get("tool_calls") if isinstance(kwargs, Mapping) else None) or calls
    if calls is not None:
        return read_calls(calls, f"{place}.tool_calls")
    single = fields.get("function_call")
    return None if single is None else (read_call(single, f"{place}.function_call"),)


def _content(fields: Mapping[str, Any], place: str) -> tuple[str, tuple[ToolCall, ...], str]:
    """Return the text, the calls among the parts, and the call that is answered."""
    call_id = fields.get("tool_call_id")
    answered = call_id if isinstance(call_id, str) else ""
    key = "content" if "content" in fields or "parts" not in fields else "parts"
    content = fields.get(key)
    if content is None or isinstance(content, str):
        return content or "", (), answered
    if not isinstance(content, Sequence):
        if fields.get("role") in ("tool", "function") or fields.get("type") == "tool":
            # A tool's result that was not turned into text.
            return json.dumps(content, ensure_ascii=False, default=str), (), answered
        raise DataError(f"{place}.{key}: must be text or a list of parts, not {kind(content)}")
    texts, calls = [], []
    for index, part in enumerate(content):
        at = f"{place}.{key}[{index}]"
        text, call, answers = _part(part, at)
        answered = answered or answers
        if call is not None:
            calls.append(call)
        elif text:
            texts.append(text)
    return "\n".join(texts), tuple(calls), answered


def _part(part: Any, place: str) -> tuple[str, ToolCall | None, str]:
    if isinstance(part, str):
        return part, None, ""
    if not isinstance(part, Mapping):
        raise DataError(f"{place}: must be text or an object with a type, not {kind(part)}")
    form = part.get("type", "text" if "text" in part else None)
    if not isinstance(form, str):
        raise DataError(f"{place}.type: must be the kind of the part, not {kind(form)}")
    if form in TEXTS:
        return _as_text(part.get("text", part.get("content", ""))), None, ""
    if form in ("tool_call", "tool_use"):
        return "", read_call(part, place), ""
    if form in ("tool_call_response", "tool_result"):
        said = next((part[key] for key in ("response", "result", "content") if key in part), "")
        return _as_text(said), None, _as_text(part.get("id", part.get("tool_use_id", "")))
    return f"[{form}]", None, ""


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
