"""A row of results, as the examiners look at it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeGuard

from trialbed.wire.dialects.chat_completions import answered_calls, first_choice, read_request
from trialbed_verify.call_schemas import declared_schemas
from trialbed_verify.rows import offered_tools, sent_request, settle_row, usage_of

Json = Any

Count = Callable[[str], int | None]
"""Counts the tokens of a text; None if it cannot."""

CUT = ("length", "content_filter")
"""Finish reasons of answers that ended early."""


class AnsweredRow:
    """The request and the answer of a row.

    Attributes:
        count: the model's own tokenizer, if available.
        complete: whether the row is a success with a completion.
        request: the body that was sent, with the extra fields.
        choices: the choices that are objects; ``choice`` is the one that counts, and contains ``message``.
        calls: the message's ``tool_calls`` of any type; ``listed_calls`` are the objects among them.
        made: the calls, including a legacy one.
        content: the message's text; the texts of typed parts are joined.
        reason: the finish reason.
        is_raw: whether a raw prompt was sent instead of messages.
        reported_usage: the unchanged usage, from the first of the fields that vendors use for it.
        usage: its valid counts, including tokens of thoughts.
    """

    def __init__(self, row: Mapping[str, Any], count: Count | None = None) -> None:
        self.row, self.count, self.request = settle_row(row), count or (lambda _: None), sent_request(row)
        self.complete = row.get("status") == "success" and isinstance(row.get("response"), dict)
        self.response: dict[str, Json] = row["response"] if self.complete else {}
        self.choices, self.choice = objects_of(self.response.get("choices")), first_choice(self.response)
        self.message = object_of(self.choice.get("message"))
        self.calls: Json = self.message.get("tool_calls")
        self.listed_calls, self.made = objects_of(self.calls), answered_calls(self.message)
        self.content = text_of(self.message.get("content") or self.choice.get("text"))
        self.reason, self.is_raw = text_of(row.get("finish_reason")), "prompt" in self.request
        self.wanted_calls, self.reported_usage = read_request(self.request).tool_choice, usage_of(self.response)
        counts = {**object_of(self.reported_usage.get("completion_tokens_details")), **self.reported_usage}
        self.usage = {name: count for name, count in counts.items() if is_count(count)}
        # Routers send it in two fields at once.
        thoughts = [text_of(self.message.get(key)) for key in ("reasoning_content", "reasoning")]
        details = objects_of(self.message.get("reasoning_details"))
        parts = [text_of(detail.get(key)) for detail in details for key in ("text", "summary")]
        self.reasoning = max(thoughts, key=len) or "".join(parts)

    def is_asked(self, text: str) -> bool:
        """Return whether a text occurs in the request."""
        return text in self._request_text or json.dumps(text, ensure_ascii=False)[1:-1] in self._request_text

    @cached_property
    def _request_text(self) -> str:
        return json.dumps(self.request, ensure_ascii=False)

    @cached_property
    def tool_schemas(self) -> dict[str, Any]:
        """Return the names of the tools with the schemas of their arguments."""
        return declared_schemas(offered_tools(self.request))

    def arguments_of(self, name: Json) -> dict[str, Json]:
        """Return the schemas of a tool's arguments."""
        schema = self.tool_schemas.get(name) if isinstance(name, str) else None
        return object_of(object_of(schema).get("properties"))

    @cached_property
    def text(self) -> str:
        """Return all generated text of every choice, including reasoning, refusals and calls."""
        raw = "".join(text_of(choice.get("text")) for choice in self.choices) if self.is_raw else ""
        parts = [self.reasoning]
        for message in [object_of(choice.get("message")) or {"content": choice.get("text")} for choice in self.choices]:
            functions = [*map(function_of, list_of(message.get("tool_calls"))), object_of(message.get("function_call"))]
            parts += [text_of(message.get("content")), text_of(message.get("refusal"))]
            parts += [str(part) for function in functions for part in function.values()]
        return raw or "".join(parts)


def is_whole(value: Json) -> bool:
    """Return whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_count(value: Json) -> TypeGuard[int]:
    """Return whether a value is a number of tokens."""
    return is_whole(value) and value >= 0


def function_of(call: Json) -> dict[str, Json]:
    """Return the function of a call or of a declared tool; empty if missing."""
    return object_of(object_of(call).get("function"))


def alternatives_of(token: Json) -> list[Json]:
    """Return the alternatives of a token with log probabilities; empty if missing."""
    return list_of(object_of(token).get("top_logprobs"))


def text_of(content: Json) -> str:
    """Return the text of a message's content, which may come in typed parts."""
    if isinstance(content, list):
        return "".join(text for part in objects_of(content) if isinstance(text := part.get("text"), str))
    return content if isinstance(content, str) else ""


def object_of(value: Json) -> dict[str, Json]:
    """Return a value if it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Json) -> list[Json]:
    """Return a value if it is a list; else an empty one."""
    return value if isinstance(value, list) else []


def objects_of(value: Json) -> list[dict[str, Json]]:
    """Return the objects in a list; empty if it is not a list."""
    return [one for one in list_of(value) if isinstance(one, dict)]
