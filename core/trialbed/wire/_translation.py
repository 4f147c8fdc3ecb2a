"""Translates requests of one dialect into another one, for endpoints that do not speak theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from trialbed.wire._exchange import TEXTS, Document, ModelMessage, ModelRequest
from trialbed.wire.dialects import CHAT, dialect
from trialbed.wire.dialects._fields import list_of

ROLES = frozenset(("system", "developer", "user", "assistant", "tool"))

TITLES = {CHAT: "chat completions", "messages": "Messages", "responses": "Responses"}


def translate_request(request: ModelRequest, goal: str = CHAT) -> Document:
    """Translate a request of any dialect into another; it streams if the original does.

    A seed is dropped if the other dialect does not have it.

    Args:
        goal: the name of the other dialect.

    Raises:
        ValueError: something in it has no counterpart; says what.
    """
    spoken, title = dialect(goal), TITLES.get(goal, goal)
    if request.foreign:
        raise ValueError(f"{title} have no counterpart of {', '.join(map(repr, request.foreign))}")
    messages = [_portable(message, title) for message in request.messages]
    return spoken.write_request(request.model, messages, spoken.write_settings(request), request.tools)


def _portable(message: ModelMessage, goal: str) -> ModelMessage:
    """Return a message without fields that only its own dialect has.

    Raises:
        ValueError: its content has no counterpart in other dialects.
    """
    if message.role not in ROLES:
        raise ValueError(f"a message of the role {message.role[:100]!r} cannot be written in {goal}")
    if message.role == "assistant":
        for part in list_of(message.content):
            kind = part.get("type", "text") if isinstance(part, Mapping) else type(part).__name__
            if not (isinstance(kind, str) and kind in TEXTS):
                raise ValueError(
                    f"a part of the type {str(kind)[:100]!r} in the model's words cannot be written in {goal}"
                )
    calls = tuple(replace(call, source={}) for call in message.calls)
    # Most endpoints refuse the field that a few vendors have for returned reasoning.
    return replace(message, reasoning="", calls=calls, source=None)
