"""Right answers: which request gets a call, and the completion as a document and as a stream."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trialbed_server.gateway.scripted.arguments import minimal_arguments

SHARE = 0.45
TEXT = "This needs no tool. Here is what there is to say about it."
PIECE = 8
"""Characters in one chunk."""


@dataclass(frozen=True)
class Completion:
    """What an answer says, before it is written.

    Attributes:
        calls: names and argument texts.
        usage: as reported; None reports none.
    """

    model: str
    identity: str
    text: str
    calls: tuple[tuple[str, str], ...]
    finish_reason: str | None
    usage: Mapping[str, Any] | None
    reasoning: str = ""

    def message(self) -> dict[str, Any]:
        """The assistant's message."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self.calls:
            message["tool_calls"] = [
                {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
                for number, (name, arguments) in enumerate(self.calls)
            ]
        return message

    def document(self) -> dict[str, Any]:
        """The answer to a request that does not stream."""
        choice = {"index": 0, "message": self.message(), "finish_reason": self.finish_reason}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self.usage}

    def chunks(self) -> list[dict[str, Any]]:
        """The answer's chunks: the role, the pieces, the finish reason, the usage."""
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": piece} for piece in _pieces(self.reasoning)]
        deltas += [{"content": piece} for piece in _pieces(self.text)]
        for number, (name, arguments) in enumerate(self.calls):
            head = {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": ""}}
            deltas.append({"tool_calls": [{"index": number, **head}]})
            deltas += [
                {"tool_calls": [{"index": number, "function": {"arguments": piece}}]} for piece in _pieces(arguments)
            ]
        chunks = [self._chunk({"index": 0, "delta": delta, "finish_reason": None}) for delta in deltas]
        chunks.append(self._chunk({"index": 0, "delta": {}, "finish_reason": self.finish_reason}))
        if self.usage is not None:
            chunks.append({**self._head("chat.completion.chunk"), "choices": [], "usage": self.usage})
        return chunks

    def _chunk(self, choice: dict[str, Any]) -> dict[str, Any]:
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    def _head(self, kind: str) -> dict[str, Any]:
        head = {"id": f"chatcmpl-{self.identity}", "object": kind, "created": 1, "model": self.model}
        return {**head, "system_fingerprint": "fp_scripted"}


def right_answer(request: Mapping[str, Any], settings: Mapping[str, Any]) -> Completion:
    """The answer to a request: a call of one of its tools, or a text.

    Which of both depends on nothing but the conversation and the tools, so that two vendors agree, unless
    ``invert`` turns the decision of one of them round.
    """
    digest = hashlib.sha256(json.dumps([request.get("messages"), request.get("tools")], sort_keys=True).encode())
    draw = int.from_bytes(digest.digest()[:8], "big") / 2**64
    functions = [tool["function"] for tool in request.get("tools") or () if tool.get("type", "function") == "function"]
    called = (draw < settings.get("share", SHARE)) != bool(settings.get("invert"))
    chosen = functions[int(draw * 1000) % len(functions)] if functions and called else None
    calls = () if chosen is None else ((chosen["name"], _arguments(chosen.get("parameters"))),)
    return Completion(
        model=str(request.get("model")),
        identity=digest.hexdigest()[:12],
        text="" if calls else TEXT,
        calls=calls,
        finish_reason="tool_calls" if calls else "stop",
        usage=_usage(request, calls),
    )


def _arguments(schema: Any) -> str:
    return json.dumps(minimal_arguments(schema or {}), ensure_ascii=False)


def _usage(request: Mapping[str, Any], calls: tuple[tuple[str, str], ...]) -> dict[str, int]:
    prompt = len(json.dumps(request)) // 4
    completion = sum(len(name) + len(arguments) for name, arguments in calls) // 4 if calls else len(TEXT) // 4
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
