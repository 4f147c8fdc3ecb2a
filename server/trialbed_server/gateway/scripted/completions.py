"""A turn in OpenAI's chat completion format, whole and in chunks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trialbed.records import Usage
from trialbed_server.gateway.scripted.turns import Turn

PIECE = 8
"""Characters of text or arguments in one chunk of a stream."""

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Completion:
    """One completion.

    Attributes:
        identity: what the ids are made of; the same for the same call of the same trial.
        created: seconds since 1970.
    """

    identity: str
    created: int
    model: str
    turn: Turn

    @property
    def finish_reason(self) -> str:
        """``tool_calls`` or ``stop``."""
        return "tool_calls" if self.turn.calls else "stop"

    def message(self) -> dict[str, Any]:
        """The assistant's message."""
        if not self.turn.calls:
            return {"role": "assistant", "content": self.turn.text, "refusal": None}
        calls = [
            {"id": self._call_id(index), "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for index, c in enumerate(self.turn.calls)
        ]
        return {"role": "assistant", "content": None, "refusal": None, "tool_calls": calls}

    def document(self, usage: Usage) -> dict[str, Any]:
        """The answer to a request that does not stream."""
        choice = {"index": 0, "message": self.message(), "logprobs": None, "finish_reason": self.finish_reason}
        return {**self._head("chat.completion"), "choices": [choice], "usage": usage_document(usage)}

    def events(self, usage: Usage | None) -> Iterator[bytes]:
        """The stream's events; a last chunk with the usage if it is given."""
        yield self._event({"role": "assistant", "content": None if self.turn.calls else ""})
        for piece in _pieces(self.turn.text):
            yield self._event({"content": piece})
        for index, call in enumerate(self.turn.calls):
            function = {"name": call.name, "arguments": ""}
            yield self._calls(index, id=self._call_id(index), type="function", function=function)
            for piece in _pieces(call.arguments):
                yield self._calls(index, function={"arguments": piece})
        yield self._event({}, self.finish_reason)
        if usage is not None:
            yield _line({**self._head("chat.completion.chunk"), "choices": [], "usage": usage_document(usage)})
        yield DONE

    def _calls(self, index: int, **fields: Any) -> bytes:
        return self._event({"tool_calls": [{"index": index, **fields}]})

    def _event(self, delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return _line({**self._head("chat.completion.chunk"), "choices": [choice]})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": f"chatcmpl-{self._digest('')}", "object": kind, "created": self.created, "model": self.model}

    def _call_id(self, index: int) -> str:
        return f"call_{self._digest(str(index))}"

    def _digest(self, part: str) -> str:
        return hashlib.sha256(f"{self.identity}#{part}".encode()).hexdigest()[:24]


def usage_document(usage: Usage) -> dict[str, int]:
    """Usage as OpenAI reports it."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def _line(document: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(document, separators=(",", ":")).encode("ascii") + b"\n\n"
