"""Model adapters, which read calls from raw completions and write prompts with a tokenizer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from trialbed.contracts import ModelAdapter
from trialbed.errors import UsageError
from trialbed.installed import extra_command
from trialbed.wire import lenient_json

EXTRA = "raw"
"""The extra with the library of tokenizers."""


class TokenizerAdapter(ModelAdapter):
    """Makes prompts and counts tokens with the model's own tokenizer. Its code only runs if it is trusted."""

    contract = "1"

    def prompt(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, tokenizer: str) -> str:
        """Apply the tokenizer's chat template to a conversation.

        Raises:
            UsageError: the tokenizer cannot be loaded, has no chat template, or its template cannot be applied.
        """
        own = _tokenizer(tokenizer, self.trust_tokenizer_code)
        try:
            return str(own.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=True))
        except ImportError as error:
            reason = f"needs a library: {error}; {extra_command(EXTRA)}"
            raise UsageError(f"--tokenizer-model {tokenizer}: its chat template {reason}") from error
        except Exception as error:
            # Templates are programs and raise their own errors for conversations that they do not accept.
            raise UsageError(f"--tokenizer-model {tokenizer}: its chat template cannot be applied: {error}") from error

    def count_tokens(self, text: str, tokenizer: str) -> int | None:
        """Count the tokens of a text without the special tokens around it.

        Raises:
            UsageError: the tokenizer cannot be loaded.
        """
        return len(_tokenizer(tokenizer, self.trust_tokenizer_code).encode(text, add_special_tokens=False))


@lru_cache(maxsize=4)
def _tokenizer(name: str, trust: bool) -> Any:
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise UsageError(f"raw completions need a tokenizer: {extra_command(EXTRA)}") from error
    try:
        return AutoTokenizer.from_pretrained(name, trust_remote_code=trust)
    except ImportError as error:
        raise UsageError(f"--tokenizer-model {name}: needs a library: {error}; {extra_command(EXTRA)}") from error
    except (OSError, ValueError) as error:
        hint = "" if trust else ". If it comes with code that you trust, add --trust-tokenizer-code"
        said = " ".join(str(error).split()).rstrip(".")
        raise UsageError(f"--tokenizer-model {name}: cannot be loaded: {said}{hint}") from error


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
        calls.extend(_kimi_call(part) for _, _, part in enclosed(section, *CALL))
        return True

    return without_enclosed(text, *SECTION, read), [call for call in calls if call is not None]


def _transform(message: dict[str, Any]) -> dict[str, Any]:
    if message.get("role") == "_input":
        return {**message, "role": "system"}
    if message.get("role") == "assistant" and message.get("tool_calls") and "reasoning_content" not in message:
        return {**message, "reasoning_content": " "}
    return message


def _kimi_call(part: str) -> dict[str, Any] | None:
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
