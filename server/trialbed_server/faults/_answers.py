"""Right answers: which request gets a call, and what the completion says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trialbed.chat import Call, Completion, offered_functions, usage_document
from trialbed_server.gateway.scripted.arguments import minimal_arguments

TEXT = "This needs no tool. Here is what there is to say about it."

SPARE = Call("lookup", "{}")
"""The call where a fault needs one and no tool was offered."""


@dataclass(frozen=True)
class Answer:
    """The content of an answer, before it becomes a completion.

    Attributes:
        usage: as reported; None reports none.
        raw: whether it answers a raw prompt: its calls stand in its text as Kimi models write them.
        spare: a call that could have been made, for faults that need one.
    """

    model: str
    identity: str
    text: str
    calls: tuple[Call, ...]
    finish_reason: str | None
    usage: Mapping[str, Any] | None
    reasoning: str = ""
    raw: bool = False
    spare: Call = SPARE

    def completion(self) -> Completion:
        """The completion that says this."""
        return Completion(
            model=self.model,
            id=f"chatcmpl-{self.identity}",
            content=self._raw_text() if self.raw else self.text,
            calls=() if self.raw else self.calls,
            finish_reason=self.finish_reason,
            usage=self.usage,
            reasoning="" if self.raw else self.reasoning,
            raw=self.raw,
            fields={"system_fingerprint": "fp_scripted"},
        )

    def _raw_text(self) -> str:
        calls = "".join(
            f"<|tool_call_begin|>functions.{call.name}:{number}"
            f"<|tool_call_argument_begin|>{call.arguments}<|tool_call_end|>"
            for number, call in enumerate(self.calls)
        )
        section = f"<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>" if calls else ""
        return self.text + section


def right_answer(request: Mapping[str, Any], share: float, *, inverted: bool = False) -> Answer:
    """The answer to a request: a call of one of its tools, or a text.

    Which of the two depends only on the conversation and the tools, so that two vendors agree, unless the
    decision of one of them is ``inverted``.

    Args:
        share: of the requests with tools that get a call.
    """
    asked = [request.get("messages") or request.get("prompt"), request.get("tools")]
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode())
    draw = int.from_bytes(digest.digest()[:8], "big") / 2**64
    offered = [Call(item["name"], _arguments(item.get("parameters"))) for item in offered_functions(request)]
    possible = (offered[int(draw * 1000) % len(offered)],) if offered else ()
    calls = possible if (draw < share) != inverted else ()
    return Answer(
        model=str(request.get("model")),
        identity=digest.hexdigest()[:12],
        text="" if calls else TEXT,
        calls=calls,
        finish_reason="tool_calls" if calls else "stop",
        usage=_usage(request, calls),
        raw="prompt" in request,
        spare=possible[0] if possible else SPARE,
    )


def _arguments(schema: Any) -> str:
    return json.dumps(minimal_arguments(schema if isinstance(schema, dict) else {}), ensure_ascii=False)


def _usage(request: Mapping[str, Any], calls: tuple[Call, ...]) -> dict[str, int]:
    length = sum(len(call.name) + len(call.arguments) for call in calls) if calls else len(TEXT)
    return usage_document(len(json.dumps(request)) // 4, length // 4)
