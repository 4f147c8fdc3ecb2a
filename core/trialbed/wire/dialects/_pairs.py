"""Calls of a conversation and their results, which vendors want in pairs."""

from __future__ import annotations

from collections.abc import Sequence

from trialbed.wire._exchange import ModelMessage

SHOWN = 100
"""Characters of an id that an error shows."""


def stray_result(messages: Sequence[ModelMessage], *, next_to_its_call: bool) -> str | None:
    """Return the id of the first result that is of no call before it; None if each has its call.

    Args:
        next_to_its_call: whether the call must be in the last message of the model.
    """
    known: set[str] = set()
    for message in messages:
        if message.role == "tool" and message.call_id not in known:
            return message.call_id[:SHOWN]
        if message.role == "assistant":
            known = {call.id for call in message.calls} | (set() if next_to_its_call else known)
    return None


def open_call(messages: Sequence[ModelMessage], *, at_once: bool) -> str | None:
    """Return the id of the first call that has no result; None if each has one.

    Args:
        at_once: whether the results must follow before anything else.
    """
    asked: dict[str, None] = {}
    for message in messages:
        if message.role == "tool":
            asked.pop(message.call_id, None)
        elif asked and at_once:
            break
        asked |= dict.fromkeys(call.id for call in message.calls)
    return next((made[:SHOWN] for made in asked), None)
