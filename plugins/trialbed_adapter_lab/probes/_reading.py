"""Conversations of requests, and their differences from those of the reference loop."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

IDS = frozenset(("id", "call_id", "tool_call_id", "tool_use_id"))
"""Fields that hold the id of a call, or of an item."""

ITEMS = frozenset(("message", "reasoning"))
"""Types of items whose ``id`` is no call's, though they have no ``call_id`` beside it."""


MessageChange = tuple[Literal["added", "lost", "changed"], str]
"""The kind of a difference from the reference's messages, and the role of the message; the type of an item without."""


def conversation(request: Mapping[str, Any]) -> list[Any]:
    """Return the conversation of a request as its dialect has it, its instructions as a first message."""
    told = request.get("instructions") or request.get("system")
    said: Any = next((request[name] for name in ("messages", "input") if name in request), [])
    first = [{"role": "system", "content": told}] if told else []
    return [*first, *(said if isinstance(said, list) else [{"role": "user", "content": said}])]


def messages(request: Mapping[str, Any]) -> list[Any]:
    """Return the request's messages or items, its instructions first.

    The ids of tool calls and items are numbered in order of appearance, since they differ from trial to trial.
    """
    # An item has both kinds in any order, so neither may count the other.
    calls: dict[str, str] = {}
    items: dict[str, str] = {}

    def number(value: Any) -> Any:
        if isinstance(value, list):
            return [number(one) for one in value]
        if isinstance(value, dict):
            return {key: number_field(key, one, value) for key, one in value.items()}
        return value

    def number_field(key: str, value: Any, around: Mapping[str, Any]) -> Any:
        if key == "input" and around.get("type") == "tool_use":
            return value  # arguments of a call, whose names are the tool's
        if key not in IDS or not isinstance(value, str):
            return number(value)
        if key == "id" and ("call_id" in around or around.get("type") in ITEMS):
            return items.setdefault(value, f"item-{len(items) + 1}")
        return calls.setdefault(value, f"call-{len(calls) + 1}")

    return [number(one) for one in conversation(request)]


def message_changes(reference: Sequence[Any], sent: Sequence[Any]) -> list[MessageChange]:
    """Return every message that differs; ids of tool calls must have been numbered in both.

    The order of a message's keys does not count: the model does not see it.
    """
    before, after = ([json.dumps(message, sort_keys=True) for message in side] for side in (reference, sent))
    changes: list[MessageChange] = []
    for tag, first, last, start, stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            old, new = range(first, last), range(start, stop)
            pairs = _pairs(reference, sent, old, new)
            changes += [("changed" if index in pairs else "added", _role(sent[index])) for index in new]
            changes += [("lost", _role(reference[index])) for index in old if index not in pairs.values()]
    return changes


def _pairs(reference: Sequence[Any], sent: Sequence[Any], old: range, new: range) -> dict[int, int]:
    """Return ``index of a sent message -> index of the reference's``: messages of one role, in order.

    ``system`` and ``developer`` are one role under two names. Blocks of one length are paired in place.
    """
    if len(old) == len(new):
        return dict(zip(new, old, strict=True))
    roles = [_role(sent[index]).replace("developer", "system") for index in new]
    others = [_role(reference[index]).replace("developer", "system") for index in old]
    blocks = SequenceMatcher(None, others, roles, autojunk=False).get_matching_blocks()
    return {new[block.b + step]: old[block.a + step] for block in blocks for step in range(block.size)}


def _role(message: Any) -> str:
    """Return the role of a message; of an item of Responses that has none, its type in words."""
    if not isinstance(message, dict):
        return ""
    return str(message.get("role") or str(message.get("type", "")).replace("_", " "))
