"""A row of results, as the examiners look at it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from trialbed.wire.dialects.chat_completions import (
    answered_calls,
    first_choice,
    first_message,
    token_counts,
)
from trialbed_verify.call_schemas import declared_schemas
from trialbed_verify.rows import sent_request

Json = Any

Count = Callable[[str], int | None]
"""Counts the tokens of a text; None if it cannot."""

REASONING = ("reasoning_content", "reasoning")

REPEATED = re.compile(r"(\s|[^\w\s])\1{2,}")
"""Runs of spaces or punctuation, of which one token can have many."""


class AnsweredRow:
    """Return the request and the answer of a row.

    Args:
        count: the model's own tokenizer, where it is at hand.

    Attributes:
        complete: whether the answer is complete: the row is a success with a completion.
        request: the body as it was sent, with the extra fields.
        response: the completion; empty if there is none.
        choices: those that are objects.
        choice: the one that counts.
        message: of that choice.
        calls: the message's ``tool_calls``, of whatever type.
        made: the calls, a legacy one too.
        content: the message's text; the texts of typed parts are joined.
        reason: the finish reason.
    """

    def __init__(self, row: Mapping[str, Any], count: Count | None = None) -> None:
        self.row = row
        self.count = count
        response = row.get("response")
        self.complete = row.get("status") == "success" and isinstance(response, dict)
        self.request = sent_request(row)
        self.response: dict[str, Json] = response if self.complete and isinstance(response, dict) else {}
        self.choices = objects_of(self.response.get("choices"))
        self.choice = first_choice(self.response)
        self.message = first_message(self.response)
        self.calls: Json = self.message.get("tool_calls")
        self.content = text_of(self.message.get("content") or self.choice.get("text"))
        self.made = answered_calls(self.response)
        reason = row.get("finish_reason")
        self.reason = reason if isinstance(reason, str) else ""
        self._asked: dict[str, bool] = {}

    def is_asked(self, token: str) -> bool:
        """Return whether a text occurs in the request; an answer may have it millions of times."""
        if token not in self._asked:
            sent = self._request_text
            self._asked[token] = token in sent or json.dumps(token, ensure_ascii=False)[1:-1] in sent
        return self._asked[token]

    @cached_property
    def _request_text(self) -> str:
        return json.dumps(self.request, ensure_ascii=False)

    @property
    def is_raw(self) -> bool:
        """Return whether a raw prompt was sent instead of messages."""
        return "prompt" in self.request

    @property
    def is_streamed(self) -> bool:
        """Return whether a stream was asked for."""
        return bool(self.request.get("stream"))

    @property
    def demands_call(self) -> bool:
        """Return whether the request demands a call: ``required``, or a tool by its name."""
        choice = self.request.get("tool_choice")
        if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
            return (object_of(choice.get("allowed_tools")) or choice).get("mode") == "required"
        return choice == "required" or isinstance(choice, dict)

    @property
    def messages(self) -> list[Json]:
        """Return the messages of the request."""
        return list_of(self.request.get("messages"))

    @property
    def tools(self) -> list[Json]:
        """Return the tools on offer; the functions of a legacy request are tools, too."""
        legacy = [{"type": "function", "function": one} for one in list_of(self.request.get("functions"))]
        return list_of(self.request.get("tools")) or legacy

    @cached_property
    def tool_schemas(self) -> dict[str, Any]:
        """Return the names of the tools with the schemas of their arguments."""
        return declared_schemas(self.tools)

    def arguments_of(self, name: Json) -> list[str]:
        """Return the names of a tool's arguments."""
        schema = self.tool_schemas.get(name) if isinstance(name, str) else None
        return list(object_of(object_of(schema).get("properties")))

    @cached_property
    def usage(self) -> Mapping[str, int]:
        """Return the token counts that are whole numbers."""
        return token_counts(self.response)

    @cached_property
    def reported_usage(self) -> dict[str, Json]:
        """Return the usage as it came, in the first of the places where vendors put it."""
        groq = object_of(self.response.get("x_groq"))
        places = (self.response.get("usage"), groq.get("usage"), self.choice.get("usage"))
        return next((place for place in places if isinstance(place, dict) and place), {})

    @property
    def listed_calls(self) -> list[dict[str, Json]]:
        """Return the calls that are objects."""
        return objects_of(self.calls)

    @cached_property
    def reasoning(self) -> str:
        """Return the reasoning that was sent."""
        # Routers send it in two fields at once.
        sent = [text for key in REASONING if isinstance(text := self.message.get(key), str) and text]
        if sent:
            return max(sent, key=len)
        details = objects_of(self.message.get("reasoning_details"))
        parts = (detail.get(key) for detail in details for key in ("text", "summary"))
        return "".join(part for part in parts if isinstance(part, str))

    @cached_property
    def texts(self) -> list[str]:
        """Return every text that was generated: of all choices, with reasoning, refusals and calls."""
        found = [self.reasoning]
        for choice in self.choices:
            message = object_of(choice.get("message"))
            found += [text_of(message.get("content") or choice.get("text")), text_of(message.get("refusal"))]
            functions = [*map(function_of, list_of(message.get("tool_calls"))), object_of(message.get("function_call"))]
            found += [str(part) for function in functions for part in function.values()]
        return [text for text in found if text]

    @property
    def own_count(self) -> int | None:
        """Return the tokens of the answer as the model's tokenizer counts them."""
        if self.count is None:
            return None
        raw = [text for choice in self.choices if isinstance(text := choice.get("text"), str)]
        counts = [self.count(text) for text in (raw if self.is_raw else self.texts)]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def own_count_of_prompt(self) -> int | None:
        """Return the tokens of a raw prompt as the model's tokenizer counts them."""
        prompt = self.request.get("prompt")
        return self.count(prompt) if self.count is not None and isinstance(prompt, str) else None

    @property
    def whole_text(self) -> str:
        """Return all texts that were generated as one."""
        return "".join(self.texts)


def is_whole(value: Json) -> bool:
    """Return whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def least_letters(text: str) -> int:
    """Count the characters of a text in which runs of one sign count once."""
    return len(REPEATED.sub(r"\1", text))


def function_of(call: Json) -> dict[str, Json]:
    """Return the function of a call or of a declared tool; empty if it has none."""
    return object_of(object_of(call).get("function"))


def alternatives_of(token: Json) -> list[Json]:
    """Return the alternatives of a token with log probabilities; empty if it has none."""
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
