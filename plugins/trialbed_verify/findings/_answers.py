"""A row of results, as the examiners look at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trialbed.chat import first_choice, first_message, usage_of

Json = Any


class Answer:
    """What a row asked for and what came.

    Attributes:
        complete: whether the answer is complete: the row is a success with a completion.
        request: the body as it was sent, with the extra fields.
        response: the completion; empty if there is none.
        choice: the one that counts.
        message: of that choice.
        calls: what the message has as its calls, whatever it is.
        content: the message's text; what stands in typed parts is joined.
        reason: the finish reason.
    """

    __slots__ = ("calls", "choice", "complete", "content", "message", "reason", "request", "response", "row")

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.row = row
        response = row.get("response")
        self.complete = row.get("status") == "success" and isinstance(response, dict)
        self.request = {**_object(row.get("request")), **_object(row.get("extra_body"))}
        self.response: dict[str, Json] = response if self.complete and isinstance(response, dict) else {}
        self.choice = first_choice(self.response)
        self.message = first_message(self.response)
        self.calls: Json = self.message.get("tool_calls")
        self.content = text_of(self.message.get("content") or self.choice.get("text"))
        reason = row.get("finish_reason")
        self.reason = reason if isinstance(reason, str) else ""

    @property
    def usage(self) -> dict[str, int]:
        """The token counts that are whole numbers."""
        return usage_of(self.response)

    @property
    def listed_calls(self) -> list[dict[str, Json]]:
        """The calls that are objects."""
        return [call for call in self.calls if isinstance(call, dict)] if isinstance(self.calls, list) else []


def text_of(content: Json) -> str:
    """The text of a message's content, which may come in typed parts."""
    if isinstance(content, list):
        content = "".join(
            text for part in content if isinstance(part, dict) and isinstance(text := part.get("text"), str)
        )
    return content if isinstance(content, str) else ""


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
