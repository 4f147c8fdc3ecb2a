"""Moonshot's Kimi models."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from trialbed_plugins.model_adapters._tokenizers import TokenizerAdapter

FAMILY = ("kimi", "moonshot")

SECTION = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>")
CALL = ("<|tool_call_begin|>", "<|tool_call_end|>")
ARGUMENTS = "<|tool_call_argument_begin|>"
IDENTITY = re.compile(r"\S+:\d+")


class KimiAdapter(TokenizerAdapter):
    """Supports Kimi's role for inputs, the reasoning it expects with earlier calls, and its raw completions."""

    @classmethod
    def recognises(cls, model: str) -> bool:
        """Return whether the name belongs to the family."""
        return any(name in model.lower() for name in FAMILY)

    def transform(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Replace the role ``_input`` by ``system``, and add a blank reasoning to an assistant's calls without one."""
        return [_transform(message) if isinstance(message, dict) else message for message in messages]

    def calls_of(self, text: str) -> tuple[str, list[dict[str, Any]]]:
        """Find the calls in every complete section, with ids like ``functions.NAME:NUMBER``."""
        return kimi_calls(text)


def kimi_calls(text: str) -> tuple[str, list[dict[str, Any]]]:
    """Return a text without its complete sections of calls, and their calls."""
    calls: list[dict[str, Any] | None] = []

    def read(section: str) -> bool:
        calls.extend(_call(part) for _, _, part in enclosed(section, *CALL))
        return True

    return without_enclosed(text, *SECTION, read), [call for call in calls if call is not None]


def _transform(message: dict[str, Any]) -> dict[str, Any]:
    if message.get("role") == "_input":
        return {**message, "role": "system"}
    if message.get("role") == "assistant" and message.get("tool_calls") and "reasoning_content" not in message:
        return {**message, "reasoning_content": " "}
    return message


def _call(part: str) -> dict[str, Any] | None:
    # Anything before the last opening mark is an interrupted call.
    begun, mark, arguments = part.partition(ARGUMENTS)
    identity = begun.rpartition(CALL[0])[2].strip()
    name = identity.rpartition(":")[0].partition(".")[2]
    if not mark or not name or IDENTITY.fullmatch(identity) is None:
        return None
    function = {"name": name, "arguments": arguments.strip()}
    return {"id": identity, "type": "function", "function": function}


def enclosed(text: str, opening: str, closing: str) -> Iterator[tuple[int, int, str]]:
    """Yield the parts between two marks, like ``opening(.*?)closing``, with start and end including the marks."""
    place = 0
    while (start := text.find(opening, place)) >= 0:
        inner = start + len(opening)
        end = text.find(closing, inner)
        if end < 0:
            return
        place = end + len(closing)
        yield start, place, text[inner:end]


def without_enclosed(text: str, opening: str, closing: str, is_taken: Callable[[str], bool]) -> str:
    """Remove the parts between two marks, including the marks, if ``is_taken`` returns True for them."""
    kept, place = [], 0
    for start, end, part in enclosed(text, opening, closing):
        if is_taken(part):
            kept.append(text[place:start])
            place = end
    return "".join([*kept, text[place:]])
