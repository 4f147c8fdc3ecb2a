"""Scripts for a trial: the model's replies and the Apis' behaviour."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trialbed.records import ApiRef, ToolSpec, Usage
from trialbed.wire import Call as Call
from trialbed.wire.dialects.chat_completions import Completion, usage_document, write_error
from trialbed_adapter_lab.harness._records import ObservedCall, ObservedRequest

USAGE = Usage(prompt_tokens=11, completion_tokens=3)
"""The tokens that the model reports for a reply, unless the script says otherwise."""

AFTER_THE_END = "The script has ended."
"""The model's reply when it is asked more often than the script has lines."""

TEXT_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


@dataclass(frozen=True)
class Reply:
    """A message of the model.

    Attributes:
        calls: of tools by their own names; those without an id get one.
        usage: the tokens that it reports; None if it reports none.
        reason: the finish reason; if empty, the usual one for such a message.
        extras: further fields of the message, as vendors add them.
    """

    text: str | None = None
    calls: tuple[Call, ...] = ()
    usage: Usage | None = USAGE
    reason: str = ""
    extras: Mapping[str, Any] = field(default_factory=dict)

    def completion(self, number: int, model: str, offered_name: Callable[[str], str] = str) -> Completion:
        """Return the completion that answers a request.

        Args:
            number: of the request, from 0. Calls without an id get one that is made from it and from their place.
            offered_name: the name under which the request offers a tool.
        """
        calls = (
            replace(call, name=offered_name(call.name), id=call.id or f"call_{number}_{place}")
            for place, call in enumerate(self.calls)
        )
        usage = self.usage
        return Completion(
            model=model,
            id=f"chatcmpl-{number}",
            content=self.text,
            calls=tuple(calls),
            finish_reason=self.reason or ("tool_calls" if self.calls else "stop"),
            usage=usage_document(usage.prompt_tokens, usage.completion_tokens) if usage else None,
            message_fields=self.extras,
            choice_fields={"logprobs": None},
        )


@dataclass(frozen=True)
class Raw:
    """A response that is not a completion: a status, a body and its type."""

    status: int = 200
    body: str = ""
    content_type: str = "application/json"


@dataclass(frozen=True)
class Forever:
    """A reply that is repeated for every further request."""

    reply: Reply | Raw


Line = str | Reply | Raw | Forever | Callable[[ObservedRequest], Awaitable[Reply | Raw]]
"""One entry of a script: a text is the model's answer; a function makes the reply when it is due."""


class Script:
    """The lines of one trial, in order."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._next = 0

    async def reply(self, request: ObservedRequest) -> Reply | Raw:
        """Return the model's reply to this request."""
        if self._next >= len(self._lines):
            return Reply(AFTER_THE_END)
        line = self._lines[self._next]
        if isinstance(line, Forever):
            return line.reply
        self._next += 1
        if isinstance(line, str):
            return Reply(line)
        return line if isinstance(line, (Reply, Raw)) else await line(request)


def says(text: str | None, *, usage: Usage | None = USAGE) -> Reply:
    """Return a turn in which the model answers in text."""
    return Reply(text, usage=usage)


def asks(*calls: Call, text: str | None = None, usage: Usage | None = USAGE) -> Reply:
    """Return a turn in which the model asks for all these calls; ``text`` is sent with them."""
    return Reply(text, calls, usage)


def call(name: str, arguments: Mapping[str, Any] | str = "{}", *, id: str = "") -> Call:  # noqa: A002 - the wire's word
    """Return a call with these arguments; a text is sent as it is."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return Call(name, text, id)


def fails(status: int) -> Raw:
    """Return a refusal of the model's endpoint with this status, as vendors write it."""
    return Raw(status, json.dumps(write_error(f"the harness refuses with {status}", "harness_error")))


def forever(reply: Reply | Raw) -> Forever:
    """Repeat this reply for every request from here on."""
    return Forever(reply)


@dataclass(frozen=True)
class ApiReply:
    """An Api's answer: a response (JSON), an error text, or a status of the server."""

    response: Any = ""
    error: str = ""
    status: int = 200


Behaviour = Callable[[ObservedCall], Awaitable[ApiReply]]
"""Answers a call; runs on the server's event loop."""


@dataclass(frozen=True)
class ScriptedTool:
    """A tool that a trial is offered, and the Api behind it."""

    spec: ToolSpec
    behave: Behaviour

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.spec.name


async def echo(call: ObservedCall) -> ApiReply:
    """Answer with the arguments."""
    return ApiReply(call.arguments)


def returns(response: Any) -> Behaviour:
    """Answer every call with this: a text as it is, anything else as JSON."""
    return _always(ApiReply(response))


def errs(error: str, response: Any = "") -> Behaviour:
    """Answer every call with an error of the Api."""
    return _always(ApiReply(response, error))


def breaks(status: int) -> Behaviour:
    """Answer every call with a status of the server."""
    return _always(ApiReply(status=status))


def tool(
    name: str = "Echo_text",
    behave: Behaviour = echo,
    *,
    parameters: Mapping[str, Any] = TEXT_SCHEMA,
    description: str = "Returns its arguments.",
    api: ApiRef | None = None,
) -> ScriptedTool:
    """Return a tool for a trial of the harness."""
    api = api or ApiRef(category="Harness", tool_name=name, api_name="call")
    return ScriptedTool(ToolSpec(name=name, description=description, parameters=dict(parameters), api=api), behave)


def _always(reply: ApiReply) -> Behaviour:
    async def answer(_: ObservedCall) -> ApiReply:
        return reply

    return answer
