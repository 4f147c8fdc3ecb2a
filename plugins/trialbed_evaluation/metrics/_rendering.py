"""Writes a conversation as the text that a model is given."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from trialbed_evaluation.conversations import Message


def render(messages: Sequence[Message]) -> str:
    """Return the conversation as text, a line or more per message; arguments as JSON."""
    return "\n".join(line for message in messages for line in _lines(message))


def render_as_ragas(messages: Sequence[Message]) -> str:
    """Return the conversation as Ragas 0.4.3 writes it: arguments as Python does, and no system messages."""
    return "\n".join(_ragas_message(message) for message in messages if message.role != "system")


def _lines(message: Message) -> Iterator[str]:
    names = {"system": "System", "user": "Human", "assistant": "AI", "tool": "ToolOutput"}
    if message.content or message.role != "assistant":
        yield f"{names[message.role]}: {message.content}"
    if message.calls:
        yield "Tools:"
        yield from (
            f"  {call.name}: {json.dumps(call.args, ensure_ascii=False, default=str)}" for call in message.calls
        )


def _ragas_message(message: Message) -> str:
    if message.role != "assistant":
        return f"{'Human' if message.role == 'user' else 'ToolOutput'}: {message.content}"
    lines = [f"AI: {message.content}"] if message.content != "" else []
    if message.calls is not None:
        lines.append("Tools:")
        lines += [f"  {call.name}: {dict(call.args or {})}" for call in message.calls]
    return "\n".join(lines)
