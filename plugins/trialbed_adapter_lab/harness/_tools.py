"""Scripted tools, and the answers of the Apis behind them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trialbed.records import ApiRef, ToolSpec
from trialbed_adapter_lab.harness._records import ObservedCall

TEXT_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


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


def errs(error: str) -> Behaviour:
    """Answer every call with an error of the Api."""
    return _always(ApiReply(error=error))


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


DETAILED_USAGE = {
    "prompt_tokens": 40,
    "completion_tokens": 20,
    "total_tokens": 60,
    "prompt_tokens_details": {"cached_tokens": 32, "audio_tokens": 2},
    "completion_tokens_details": {"reasoning_tokens": 16, "audio_tokens": 1},
}
"""The tokens that an answer reports, with the parts that are in the sums already."""
