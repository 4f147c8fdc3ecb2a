"""A row of results, as the examiners look at it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from trialbed.wire.dialects.chat_completions import (
    answered_calls,
    first_choice,
    first_message,
    read_answer,
    read_request,
)
from trialbed_verify.call_schemas import declared_schemas
from trialbed_verify.rows import sent_request

Json = Any

Count = Callable[[str], int | None]
"""Counts the tokens of a text; None if it cannot."""

REASONING = ("reasoning_content", "reasoning")


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
        choices = self.response.get("choices")
        self.choices = [one for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
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
    def wants_usage(self) -> bool:
        """Return whether usage was asked for at the end of the stream."""
        return read_request(self.request).wants_usage

    @property
    def demands_call(self) -> bool:
        """Return whether the request demands a call: ``required``, or a tool by its name."""
        choice = self.request.get("tool_choice")
        if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
            inner = choice.get("allowed_tools")
            return (inner if isinstance(inner, dict) else choice).get("mode") == "required"
        return choice == "required" or isinstance(choice, dict)

    @property
    def messages(self) -> list[Json]:
        """Return the messages of the request."""
        messages = self.request.get("messages")
        return messages if isinstance(messages, list) else []

    @property
    def tools(self) -> list[Json]:
        """Return the tools on offer; the functions of a legacy request are tools, too."""
        tools, functions = self.request.get("tools"), self.request.get("functions")
        if isinstance(tools, list) and tools:
            return tools
        return [{"type": "function", "function": one} for one in functions] if isinstance(functions, list) else []

    @cached_property
    def tool_names(self) -> list[str]:
        """Return the names of the tools."""
        return [tool.name for tool in read_request({"tools": self.tools}).tools]

    @cached_property
    def arguments_of_tools(self) -> dict[str, list[str]]:
        """Return the names of the tools with those of their arguments."""
        return {
            name: list(_object(_object(schema).get("properties")))
            for name, schema in declared_schemas(self.tools).items()
        }

    @cached_property
    def usage(self) -> Mapping[str, int]:
        """Return the token counts that are whole numbers."""
        return read_answer(self.response).usage or {}

    @cached_property
    def reported_usage(self) -> dict[str, Json]:
        """Return the usage as it came, in the first of the places where vendors put it."""
        groq = _object(self.response.get("x_groq"))
        places = (self.response.get("usage"), groq.get("usage"), self.choice.get("usage"))
        return next((place for place in places if isinstance(place, dict) and place), {})

    @property
    def listed_calls(self) -> list[dict[str, Json]]:
        """Return the calls that are objects."""
        return [call for call in self.calls if isinstance(call, dict)] if isinstance(self.calls, list) else []

    @cached_property
    def reasoning(self) -> str:
        """Return the reasoning that was sent."""
        message = self.message
        # Routers send it in two fields at once.
        sent = [text for key in REASONING if isinstance(text := message.get(key), str) and text]
        if sent:
            return max(sent, key=len)
        details = message.get("reasoning_details")
        return "".join(
            text
            for detail in (details if isinstance(details, list) else ())
            if isinstance(detail, dict)
            for key in ("text", "summary")
            if isinstance(text := detail.get(key), str)
        )

    @cached_property
    def texts(self) -> list[str]:
        """Return every text that was generated: of all choices, with reasoning, refusals and calls."""
        found = [self.reasoning] if self.reasoning else []
        for choice in self.choices:
            message = _object(choice.get("message"))
            found += [text_of(message.get("content") or choice.get("text")), text_of(message.get("refusal"))]
            calls = message.get("tool_calls")
            functions = [function_of(call) for call in (calls if isinstance(calls, list) else ())]
            for function in [*functions, _object(message.get("function_call"))]:
                found += [str(part) for part in function.values()]
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


def function_of(call: Json) -> dict[str, Json]:
    """Return the function of a call or of a declared tool; empty if it has none."""
    return _object(_object(call).get("function"))


def alternatives_of(token: Json) -> list[Json]:
    """Return the alternatives of a token with log probabilities; empty if it has none."""
    found = _object(token).get("top_logprobs")
    return found if isinstance(found, list) else []


def text_of(content: Json) -> str:
    """Return the text of a message's content, which may come in typed parts."""
    if isinstance(content, list):
        content = "".join(
            text for part in content if isinstance(part, dict) and isinstance(text := part.get("text"), str)
        )
    return content if isinstance(content, str) else ""


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
