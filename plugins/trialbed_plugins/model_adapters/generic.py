"""The model adapter for models that need no changes in requests."""

from __future__ import annotations

import json
import re
from typing import Any

from trialbed.wire import lenient_json
from trialbed_plugins.model_adapters._tokenizers import TokenizerAdapter
from trialbed_plugins.model_adapters.kimi import kimi_calls, without_enclosed

TAGS = ("<tool_call>", "</tool_call>")
"""Tags around JSON, for the calls of Hermes, Qwen and many others."""

LISTED = re.compile(r"\[TOOL_CALLS\]\s*(\[.*\])", re.DOTALL)
"""Matches the calls of Mistral: a mark and a JSON list."""


class GenericAdapter(TokenizerAdapter):
    """Leaves requests unchanged. It serves every model that no other adapter recognises."""

    @classmethod
    def recognises(cls, model: str) -> bool:  # noqa: ARG003 - it is the fallback
        """Return False, since this is the fallback."""
        return False

    def calls_of(self, text: str) -> tuple[str, list[dict[str, Any]]]:
        """Find calls in the formats of Hermes and Qwen, of Mistral, and of Kimi. Anything else stays text."""
        made: list[dict[str, Any]] = []

        def is_taken(part: str) -> bool:
            calls = _calls(part)
            made.extend(calls)
            return bool(calls)

        rest = without_enclosed(text, *TAGS, is_taken)
        rest = LISTED.sub(lambda found: "" if is_taken(found[1]) else found[0], rest)
        numbered = [{"id": f"call_{number}", "type": "function", "function": call} for number, call in enumerate(made)]
        rest, kimi = kimi_calls(rest)
        return rest, [*numbered, *kimi]


def _calls(text: str) -> list[dict[str, Any]]:
    """Return the calls in a JSON text, or none if any part is not a call."""
    value = lenient_json(text.strip())
    calls = [_call(item) for item in (value if isinstance(value, list) else [value])]
    return [call for call in calls if call is not None] if all(calls) else []


def _call(item: Any) -> dict[str, Any] | None:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return None
    arguments = item.get("arguments", item.get("parameters", {}))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"name": item["name"], "arguments": text}
