"""The tokens that a completion reports."""

from __future__ import annotations

from typing import Any, TypeGuard

from trialbed_verify.verification.wire._bodies import first_choice, first_message

Body = dict[str, Any]

MOST = 10**9
"""Tokens that an answer can have; who reports more reports nothing that could be added up."""


def usage_of(response: Body | None) -> dict[str, int]:
    """The token counts of a completion, wherever it has them; only those that are whole numbers."""
    found: dict[str, int] = {}
    for place in _usages(response or {}):
        found |= {key: value for key, value in place.items() if key.endswith("_tokens") and _is_count(value)}
    if "total_tokens" not in found and {"prompt_tokens", "completion_tokens"} <= found.keys():
        found["total_tokens"] = found["prompt_tokens"] + found["completion_tokens"]
    return found


def hidden_tokens(response: Body | None) -> int:
    """Tokens of reasoning that was not sent: they were made before the first token came."""
    message = first_message(response)
    if any(message.get(key) for key in ("reasoning_content", "reasoning")):
        return 0
    details = [place.get("completion_tokens_details") for place in _usages(response or {})]
    counts: list[Any] = [found.get("reasoning_tokens") for found in details if isinstance(found, dict)]
    return next((count for count in reversed(counts) if _is_count(count)), 0)


def _usages(response: Body) -> list[Body]:
    """The places where vendors put usage, least trusted first."""
    groq = response.get("x_groq")
    places = [
        first_choice(response).get("usage"),
        groq.get("usage") if isinstance(groq, dict) else None,
        response.get("usage"),
    ]
    return [place for place in places if isinstance(place, dict)]


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
