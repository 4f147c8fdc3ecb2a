"""Right answers: which request gets a call, and what the completion says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from trialbed.wire import Call
from trialbed.wire.dialects.chat_completions import Completion, offered_functions, usage_document
from trialbed_scripted.faults._arguments import valid_arguments

TEXT = "This needs no tool. Here is what there is to say about it."

LETTERS = 4
"""Characters of a token."""

SPARE = Call("lookup", "{}")
"""The call where a fault needs one and no tool was offered."""


@dataclass(frozen=True)
class Answer:
    """The content of an answer, before it becomes a completion.

    Attributes:
        usage: as reported; None reports none.
        raw: whether it answers a raw prompt: its calls are in its text as Kimi models write them.
        spare: a call that could have been made, for faults that need one.
        offered: a possible call of each tool that the request offers.
        instead: the text that it would have without calls.
        request: what is answered.
        logprobs: of its first choice; None if none were asked for.
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
    offered: tuple[Call, ...] = ()
    instead: str = TEXT
    request: Mapping[str, Any] = field(default_factory=dict, repr=False)
    logprobs: Mapping[str, Any] | None = None

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
            choice_fields={} if self.logprobs is None else {"logprobs": self.logprobs},
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
    decision of one of them is ``inverted``, or the request says it itself (``tool_choice``). ``response_format``,
    ``stop`` and ``max_tokens`` are obeyed.

    Args:
        share: of the requests with tools that get a call.
    """
    asked = [request.get("messages") or request.get("prompt"), request.get("tools")]
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode())
    draw = int.from_bytes(digest.digest()[:8], "big") / 2**64
    offered = [call for call in _callable(request) if _may_be_called(call, request)]
    possible = (offered[int(draw * 1000) % len(offered)],) if offered else ()
    calls = possible if _calls(request, decided=(draw < share) != inverted) else ()
    text, cut = ("", False) if calls else _text(request)
    return Answer(
        model=str(request.get("model")),
        identity=digest.hexdigest()[:12],
        text=text,
        calls=calls,
        finish_reason="tool_calls" if calls else "length" if cut else "stop",
        usage=usage_of(request, text, calls),
        raw="prompt" in request,
        spare=possible[0] if possible else SPARE,
        offered=tuple(offered),
        instead=text or _text(request)[0],
        request=request,
    )


def _calls(request: Mapping[str, Any], *, decided: bool) -> bool:
    """Whether a call is made: as the request says, else as was decided."""
    choice = request.get("tool_choice")
    return choice != "none" and (decided or choice == "required" or isinstance(choice, dict))


def _may_be_called(call: Call, request: Mapping[str, Any]) -> bool:
    choice = request.get("tool_choice")
    function = choice.get("function") if isinstance(choice, dict) else None
    return not isinstance(function, dict) or function.get("name") == call.name


def _text(request: Mapping[str, Any]) -> tuple[str, bool]:
    """The text of an answer, and whether the limit of tokens cuts it."""
    text = _formatted(request.get("response_format"))
    stops = request.get("stop") or ()
    for stop in [stops] if isinstance(stops, str) else stops:
        if isinstance(stop, str) and stop:
            text = text.partition(stop)[0]
    limits = [request.get(key) for key in ("max_completion_tokens", "max_tokens")]
    limit = min((limit for limit in limits if isinstance(limit, int)), default=len(text))
    return text[: limit * LETTERS], len(text) > limit * LETTERS


def _formatted(wanted: Any) -> str:
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    described = wanted.get("json_schema") if isinstance(wanted, dict) else None
    if kind == "json_schema" and isinstance(described, dict):
        return valid_arguments(described.get("schema")) or TEXT
    return json.dumps({"answer": TEXT}) if kind in ("json_object", "json_schema") else TEXT


def _callable(request: Mapping[str, Any]) -> Iterator[Call]:
    """A call of each tool that can be called rightly: with arguments that its schema allows, as far as it is one."""
    for item in offered_functions(request):
        arguments = valid_arguments(item.get("parameters"))
        if arguments is not None:
            yield Call(item["name"], arguments)


def usage_of(request: Mapping[str, Any], text: str, calls: tuple[Call, ...]) -> dict[str, int]:
    """The usage of an answer."""
    length = sum(len(call.name) + len(call.arguments) for call in calls) if calls else len(text)
    return usage_document(len(json.dumps(request)) // LETTERS, length // LETTERS)
