"""The system prompt of every framework."""

from __future__ import annotations

from trialbed.records import GIVE_UP

SYSTEM_PROMPT = (
    "You solve the user's task with the tools you are given. Call the tools you need, with arguments that "
    "fit their schemas; read what they return; call again when a result asks for it. When you know enough, "
    "answer the task in plain text and state the facts you found. If the task cannot be solved with these "
    f"tools, answer with {GIVE_UP} followed by the reason."
)
"""The system prompt of every trial, the same for all frameworks."""
