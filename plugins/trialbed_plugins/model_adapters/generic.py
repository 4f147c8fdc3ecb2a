"""Models that need nothing changed."""

from __future__ import annotations

import json
import re
from typing import Any

from trialbed.contracts import ModelAdapter
from trialbed_plugins.model_adapters._tokenizers import chat_prompt, token_count
from trialbed_plugins.model_adapters.kimi import kimi_calls

TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
"""A call as Hermes, Qwen and many others write it: JSON between tags."""

LISTED = re.compile(r"\[TOOL_CALLS\]\s*(\[.*\])", re.DOTALL)
"""Calls as Mistral writes them: a JSON list behind a mark."""


class GenericAdapter(ModelAdapter):
    """Leaves requests as they are; serves every model that no other adapter recognises."""

    contract = "1"

    @classmethod
    def recognises(cls, model: str) -> bool:  # noqa: ARG003 - it is the fallback
        """Never: it is taken where nothing else is."""
        return False

    def prompt(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, tokenizer: str) -> str:
        """The tokenizer's chat template over the conversation; its own code runs only if it is trusted."""
        return chat_prompt(tokenizer, messages, tools, trust=self.trust_tokenizer_code)

    def count_tokens(self, text: str, tokenizer: str) -> int | None:
        """By the model's own tokenizer."""
        return token_count(tokenizer, text, trust=self.trust_tokenizer_code)

    def calls_of(self, text: str) -> tuple[str, list[dict[str, Any]]]:
        """Calls in the forms of Hermes and Qwen, of Mistral, and of Kimi; a part that is not a call stays text."""
        made: list[dict[str, Any]] = []

        def taken(found: re.Match[str]) -> str:
            calls = _calls(found[1])
            if not calls:
                return found[0]
            made.extend(calls)
            return ""

        rest = LISTED.sub(taken, TAGGED.sub(taken, text))
        numbered = [{"id": f"call_{number}", "type": "function", "function": call} for number, call in enumerate(made)]
        rest, kimi = kimi_calls(rest)
        return rest, [*numbered, *kimi]


def _calls(text: str) -> list[dict[str, Any]]:
    """The functions that a JSON text calls; empty if one of them is not a call."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    calls = [_call(item) for item in (value if isinstance(value, list) else [value])]
    return [call for call in calls if call is not None] if all(calls) else []


def _call(item: Any) -> dict[str, Any] | None:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return None
    arguments = item.get("arguments", item.get("parameters", {}))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"name": item["name"], "arguments": text}
