"""The system prompt of every framework, and how the end of an answer is read."""

from __future__ import annotations

from trialbed.records import Finish

GIVE_UP = "GIVE_UP"
"""A model writes this first when it cannot solve the task."""

SYSTEM_PROMPT = (
    "You solve the user's task with the tools you are given. Call the tools you need, with arguments that "
    "fit their schemas; read what they return; call again when a result asks for it. When you know enough, "
    "answer the task in plain text and state the facts you found. If the task cannot be solved with these "
    f"tools, answer with {GIVE_UP} followed by the reason."
)
"""The system prompt of every trial, the same for all frameworks."""


def finish_of(text: str) -> Finish | None:
    """The finish of an agent whose last message says ``text``: None for an empty one."""
    stripped = text.strip()
    if not stripped:
        return None
    return "give_up_and_restart" if stripped.startswith(GIVE_UP) else "give_answer"
