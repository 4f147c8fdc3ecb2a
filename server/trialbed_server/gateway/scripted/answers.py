"""The final answers of scripted models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trialbed.evidence import evidence_values

MAX_VALUES = 50
"""Values told of one result."""

FOUND = "Here is what I found: "
NOTHING_FOUND = "I have no results to report."


def answer_with_evidence(messages: Sequence[Any]) -> str:
    """A text that carries the distinctive values of every tool result that is no error."""
    results = (evidence_values(text)[:MAX_VALUES] for text in tool_results(messages) if not text.startswith("Error:"))
    values = dict.fromkeys(value for result in results for value in result)
    return f"{FOUND}{'; '.join(values)}." if values else NOTHING_FOUND


def tool_results(messages: Iterable[Any]) -> Iterator[str]:
    """The texts of the conversation's tool messages."""
    for message in messages:
        if isinstance(message, dict) and message.get("role") == "tool":
            yield _text(message.get("content"))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
