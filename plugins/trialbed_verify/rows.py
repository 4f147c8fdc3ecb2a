"""Rows of vendors' results, of this tool or of others: their JSON, as far as it has the form that is expected."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any

from trialbed.wire.dialects.chat_completions import first_choice, first_message

Body = Mapping[str, Any]


def object_in(source: Body, key: str) -> dict[str, Any]:
    """Return the object under a key; empty for anything else."""
    value = source.get(key)
    return value if isinstance(value, dict) else {}


def text_in(source: Body, key: str) -> str | None:
    """Return the text under a key; None for an empty one and for anything else."""
    value = source.get(key)
    return intern(value) if isinstance(value, str) and value else None


def sent_request(row: Body) -> dict[str, Any]:
    """Return the request of a row as it was sent, with the extra fields; empty if the row has none."""
    return {**object_in(row, "request"), **object_in(row, "extra_body")}


def answer_in(response: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the choice that counts, and its message; of a raw completion, its text as one."""
    choice = first_choice(response)
    return choice, first_message(response) or {"content": choice.get("text")}


def usage_of(response: dict[str, Any]) -> dict[str, Any]:
    """Return the tokens that an answer reports, beside its choices or in the first of them."""
    return object_in(response, "usage") or object_in(first_choice(response), "usage")


def billed_tokens(usage: Mapping[str, Any]) -> Any:
    """Return the completion tokens that are billed: thoughts that only the total has are billed no less."""
    counts: list[Any] = [usage.get(f"{name}_tokens") for name in ("prompt", "completion", "total")]
    prompt, completion, total = counts
    known = all(isinstance(count, int | float) for count in counts)
    return max(completion, total - prompt) if known else completion


def one_line(text: str, longest: int) -> str:
    """Return a text of a row on one line, without control characters, cut where it has more characters."""
    line = "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
    return line if len(line) <= longest else f"{line[:longest]}…"
