"""Compares the messages of a conversation with those of the reference."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

from trialbed.records import Json, Record
from trialbed_adapter_lab.differences import Difference, differences


class MessageChange(Record):
    """One message that differs from the reference's.

    Attributes:
        kind: ``added``: the reference sent no such message; ``lost``: only the reference did; ``changed``: both did.
        index: its place among the framework's messages, of a lost one among the reference's.
        role: as the framework sent it, of a lost one as the reference did; the type of an item that has no role.
        message: the message as it was sent; of a lost one as the reference sent it.
        differences: of a changed one, to the reference's.
    """

    kind: Literal["added", "lost", "changed"]
    index: int
    role: str
    message: Json
    differences: tuple[Difference, ...] = ()


def message_changes(reference: Sequence[Any], sent: Sequence[Any]) -> tuple[MessageChange, ...]:
    """Return every message that differs; ids of tool calls must have been numbered in both.

    The order of a message's keys does not count: the model does not see it.
    """
    return tuple(_changes(_sort_keys(reference), _sort_keys(sent)))


def _changes(reference: Sequence[Any], sent: Sequence[Any]) -> Iterator[MessageChange]:
    before, after = [*map(json.dumps, reference)], [*map(json.dumps, sent)]
    for tag, first, last, start, stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            yield from _compare_blocks(reference, sent, range(first, last), range(start, stop))


def _compare_blocks(reference: Sequence[Any], sent: Sequence[Any], old: range, new: range) -> Iterator[MessageChange]:
    pairs = _pairs(reference, sent, old, new)
    for index in new:
        message = sent[index]
        if index in pairs:
            found = differences(reference[pairs[index]], message)
            yield MessageChange(kind="changed", index=index, role=_role(message), message=message, differences=found)
        else:
            yield MessageChange(kind="added", index=index, role=_role(message), message=message)
    for index in old:
        if index not in pairs.values():
            message = reference[index]
            yield MessageChange(kind="lost", index=index, role=_role(message), message=message)


def _pairs(reference: Sequence[Any], sent: Sequence[Any], old: range, new: range) -> dict[int, int]:
    """Return ``index of a sent message -> index of the reference's``: messages of one role, in order.

    ``system`` and ``developer`` are one role under two names. Blocks of one length are paired in place.
    """
    if len(old) == len(new):
        return dict(zip(new, old, strict=True))
    pairs: dict[int, int] = {}
    left = list(old)
    for index in new:
        alike = [other for other in left if _kind(reference[other]) == _kind(sent[index])]
        closest = max(alike, key=lambda other: _likeness(reference[other], sent[index]), default=None)
        if closest is not None:
            pairs[index] = closest
            left = [other for other in left if other > closest]
    return pairs


def _sort_keys(messages: Sequence[Any]) -> list[Any]:
    """Return the messages with their keys in one order."""
    return [json.loads(json.dumps(message, sort_keys=True)) for message in messages]


def _likeness(one: Any, other: Any) -> float:
    return SequenceMatcher(None, json.dumps(one), json.dumps(other)).ratio()


def _kind(message: Any) -> str:
    role = _role(message)
    return "system" if role == "developer" else role


def _role(message: Any) -> str:
    """Return the role of a message; of an item of Responses that has none, its type in words."""
    if not isinstance(message, dict):
        return ""
    return str(message.get("role") or str(message.get("type", "")).replace("_", " "))
