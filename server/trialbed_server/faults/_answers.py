"""Right answers: which request gets a call, and the completion as a document and as a stream."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trialbed_server.gateway.scripted.arguments import minimal_arguments

TEXT = "This needs no tool. Here is what there is to say about it."
PIECE = 8
"""Characters in one chunk."""

SPARE = ("lookup", "{}")
"""The call where no tool was offered and one is needed."""


@dataclass(frozen=True)
class Completion:
    """What an answer says, before it is written.

    Attributes:
        calls: names and argument texts.
        usage: as reported; None reports none.
        raw: whether it is a raw completion, whose calls stand in its text as Kimi models write them.
        spare: a call that could have been made, for faults that need one.
    """

    model: str
    identity: str
    text: str
    calls: tuple[tuple[str, str], ...]
    finish_reason: str | None
    usage: Mapping[str, Any] | None
    reasoning: str = ""
    raw: bool = False
    spare: tuple[str, str] = SPARE

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
        said = {"text": self._raw_text()} if self.raw else {"message": self.message()}
        choice = {"index": 0, **said, "finish_reason": self.finish_reason}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self.usage}

    def chunks(self) -> list[dict[str, Any]]:
        """The answer's chunks: the role, the pieces, the finish reason, the usage."""
        said: list[dict[str, Any]] = (
            [{"text": piece} for piece in _pieces(self._raw_text())] if self.raw else self._deltas()
        )
        chunks = [self._chunk({"index": 0, **piece, "finish_reason": None}) for piece in said]
        last: dict[str, Any] = {"text": ""} if self.raw else {"delta": {}}
        chunks.append(self._chunk({"index": 0, **last, "finish_reason": self.finish_reason}))
        if self.usage is not None:
            chunks.append({**self._head("chat.completion.chunk"), "choices": [], "usage": self.usage})
        return chunks

    def _deltas(self) -> list[dict[str, Any]]:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": piece} for piece in _pieces(self.reasoning)]
        deltas += [{"content": piece} for piece in _pieces(self.text)]
        for number, (name, arguments) in enumerate(self.calls):
            head = {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": ""}}
            deltas.append({"tool_calls": [{"index": number, **head}]})
            deltas += [
                {"tool_calls": [{"index": number, "function": {"arguments": piece}}]} for piece in _pieces(arguments)
            ]
        return [{"delta": delta} for delta in deltas]

    def _raw_text(self) -> str:
        calls = "".join(
            f"<|tool_call_begin|>functions.{name}:{number}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"
            for number, (name, arguments) in enumerate(self.calls)
        )
        section = f"<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>" if calls else ""
        return self.text + section

    def _chunk(self, choice: dict[str, Any]) -> dict[str, Any]:
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    def _head(self, kind: str) -> dict[str, Any]:
        head = {"id": f"chatcmpl-{self.identity}", "object": kind, "created": 1, "model": self.model}
        return {**head, "system_fingerprint": "fp_scripted"}


def right_answer(request: Mapping[str, Any], share: float, *, inverted: bool = False) -> Completion:
    """The answer to a request: a call of one of its tools, or a text.

    Which of both depends on nothing but the conversation and the tools, so that two vendors agree, unless the
    decision of one of them is ``inverted``.

    Args:
        share: of the requests with tools that get a call.
    """
    asked = [request.get("messages") or request.get("prompt"), request.get("tools")]
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode())
    draw = int.from_bytes(digest.digest()[:8], "big") / 2**64
    offered = [(function["name"], _arguments(function.get("parameters"))) for function in _functions(request)]
    possible = (offered[int(draw * 1000) % len(offered)],) if offered else ()
    calls = possible if (draw < share) != inverted else ()
    return Completion(
        model=str(request.get("model")),
        identity=digest.hexdigest()[:12],
        text="" if calls else TEXT,
        calls=calls,
        finish_reason="tool_calls" if calls else "stop",
        usage=_usage(request, calls),
        raw="prompt" in request,
        spare=possible[0] if possible else SPARE,
    )


def _functions(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    tools = request.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            yield function


def _arguments(schema: Any) -> str:
    return json.dumps(minimal_arguments(schema if isinstance(schema, dict) else {}), ensure_ascii=False)


def _usage(request: Mapping[str, Any], calls: tuple[tuple[str, str], ...]) -> dict[str, int]:
    prompt = len(json.dumps(request)) // 4
    completion = sum(len(name) + len(arguments) for name, arguments in calls) // 4 if calls else len(TEXT) // 4
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
