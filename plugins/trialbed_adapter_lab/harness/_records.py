"""Records of a trial's model requests, tool calls and outcome, based on the server's log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self, TypedDict

from trialbed.history import TurnHistory
from trialbed.records import Answer, ApiCall, Failure, ModelCall, Outcome, ToolSpec, TrialSpec, Usage, WireLog
from trialbed.tools import reply_text
from trialbed.wire import ModelRequest, OfferedTool, parse_object
from trialbed.wire.dialects import CHAT, Dialect
from trialbed.wire.offers import Offers
from trialbed_scripted import ModelTurn, ReceivedRequest
from trialbed_scripted.policies import in_calls


@dataclass(kw_only=True)
class Arrival:
    """Facts about a request that the server's log lacks.

    Attributes:
        headers: with names in lower case.
        ended: whether it was answered in full.
        dropped: whether its connection was closed before.
        asked: a model request as passed to the script, with the preceding conversation.
        said: the script's answer if it was a turn, or None.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    ended: bool = False
    dropped: bool = False
    asked: ModelRequest | None = None
    said: ModelTurn | None = None


@dataclass(kw_only=True)
class HarnessRequest:
    """A request that the harness's server received.

    Attributes:
        number: index among the trial's requests of its kind, from 0.
        started, ended: seconds since the trial was opened; ``ended`` is None until it has been answered.
        dropped: whether the adapter closed the connection before the answer was sent.
    """

    number: int
    started: float = 0.0
    ended: float | None = None
    dropped: bool = False

    @property
    def is_over(self) -> bool:
        """It was answered, or its connection is closed."""
        return self.dropped or self.ended is not None


def _span(call: ModelCall | ApiCall, arrival: Arrival | None) -> dict[str, Any]:
    """Return the time of a request and whether it was dropped; for requests in flight, only the arrival has this."""
    seen = arrival or Arrival(ended=call.status != 0, dropped=call.status == 0)
    ended = call.started + call.duration if seen.ended else None
    return {"started": call.started, "ended": ended, "dropped": seen.dropped}


@dataclass(kw_only=True)
class ObservedRequest(HarnessRequest):
    """A request to the model.

    Attributes:
        received: the unchanged request.
        asked: the parsed request with the preceding conversation; None to parse ``received``.
        tools: the trial's tools.
        refused: whether it was past a limit of the trial.
        usage: the tokens that its answer reports, or None.
        said: the turn that answered it, with tool names from the request; None if unknown.
        error: the message of an error response, or empty.
    """

    received: ReceivedRequest
    asked: ModelRequest | None = None
    tools: Sequence[ToolSpec] = ()
    refused: bool = False
    usage: Usage | None = None
    said: ModelTurn | None = None
    error: str = ""

    @classmethod
    def of_log(cls, number: int, call: ModelCall, tools: Sequence[ToolSpec], arrival: Arrival | None = None) -> Self:
        """Return a request from the log and its arrival."""
        sent, seen = call.request.encode(), arrival or Arrival()
        document, problem = (seen.asked.document, "") if seen.asked else parse_object(sent)
        spoken = call.dialect or CHAT
        return cls(
            number=number,
            received=ReceivedRequest(number, document, sent, seen.headers, dialect=spoken, problem=problem),
            asked=seen.asked,
            tools=tools,
            refused=call.limit is not None,
            usage=call.usage,
            said=seen.said,
            error=_error_message(call),
            **_span(call, arrival),
        )

    @property
    def body(self) -> Mapping[str, Any]:
        """The JSON object that was sent."""
        return self.received.document

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, with names in lower case."""
        return self.received.headers

    @property
    def dialect(self) -> str:
        """Return the name of the request's dialect."""
        return self.received.dialect

    @property
    def spoken(self) -> Dialect:
        """The dialect itself."""
        return self.received.spoken

    @cached_property
    def request(self) -> ModelRequest:
        """Return the request in the form shared by all dialects; tools and calls in words become real ones."""
        return in_calls(self.asked or self.received.asked)

    @property
    def roles(self) -> list[str]:
        """The roles of the conversation so far."""
        return [message.role for message in self.request.messages]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far."""
        said = (self.asked or self.received.asked).messages
        return [message.source for message in said if isinstance(message.source, dict)]

    @property
    def functions(self) -> list[dict[str, Any]]:
        """The tools offered: ``name``, ``description``, ``parameters`` of each, and further fields, in order."""
        return [_function(tool) for tool in self.request.tools]

    @cached_property
    def offers(self) -> Offers:
        """Return the functions that represent the tools, under any names."""
        return Offers(self.tools, self.request.tools)

    def offered_name(self, tool: str) -> str:
        """Return a tool's name in this request, or its own name if it is not offered."""
        function = self.offers.function(tool)
        return tool if function is None else function.name

    def own_name(self, offered: str) -> str:
        """Return the name of the tool that is offered under a name; the name itself if none is."""
        return next((tool.name for tool in self.tools if self.offered_name(tool.name) == offered), offered)

    def parameters(self, tool: str) -> Any:
        """Return the schema offered for a tool; None if it is not offered."""
        name = self.offered_name(tool)
        return next((item.get("parameters") for item in self.functions if item.get("name") == name), None)

    @property
    def results(self) -> list[tuple[str, str]]:
        """``(id of the call, text)`` of every tool message, in order."""
        return [(message.call_id, message.text) for message in self.request.messages if message.role == "tool"]

    @property
    def tool_calls(self) -> list[tuple[str, str, str]]:
        """Return ``(id, name, arguments)`` of every call in the assistant's messages, in order.

        The names are the tools' names in the request.
        """
        return [(call.id, call.name, call.arguments) for message in self.request.messages for call in message.calls]

    def said_by(self, *roles: str) -> list[str]:
        """Return the texts of the messages with any of these roles; without roles, of all messages."""
        return [message.text for message in self.request.messages if not roles or message.role in roles]


@dataclass(kw_only=True)
class ObservedCall(HarnessRequest):
    """A call of an Api.

    Attributes:
        tool: the name of the tool that stands for the Api.
        arguments: the received arguments.
        reply: the text for the agent; None if not yet available or unknown.
    """

    tool: str
    arguments: dict[str, Any]
    reply: str | None = None

    @classmethod
    def of_log(cls, number: int, call: ApiCall, tool: str, arrival: Arrival | None = None) -> Self:
        """Return a call from the log, with an object as arguments, and its arrival."""
        span, arguments = _span(call, arrival), call.arguments if isinstance(call.arguments, dict) else {}
        reply = reply_text({"error": call.error, "response": call.response})
        is_known = call.status == 200 and not span["dropped"]
        return cls(number=number, tool=tool, arguments=arguments, reply=reply if is_known else None, **span)


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """A completed trial, with the adapter's result and the requests that the harness received.

    Attributes:
        spec: the specification that the worker got.
        outcome: the adapter's result.
        requests: to the model, in order of arrival.
        calls: of tools, in order of arrival.
        strays: other requests of the trial, as ``METHOD path``, and calls that no tool stands for.
        connections: how many connections to the model were opened.
        adapter: the folder of the adapter's package.
        is_program: whether the agent is a program, which may print its answer alone.
        history: the findings on each turn of a conversation.
    """

    spec: TrialSpec
    outcome: Outcome
    requests: tuple[ObservedRequest, ...]
    calls: tuple[ObservedCall, ...]
    strays: tuple[str, ...] = ()
    connections: int = 0
    adapter: str = ""
    is_program: bool = False
    history: tuple[TurnHistory, ...] = ()

    @property
    def answer(self) -> Answer | None:
        """The answer; None if the trial failed."""
        return self.outcome.answer

    @property
    def makes_claims(self) -> bool:
        """Whether there is an answer that says which calls were made."""
        return self.answer is not None and not (self.is_program and not self.answer.reports_calls)

    @property
    def failure(self) -> Failure | None:
        """The reason why the trial failed; None if it did not."""
        return self.outcome.failure


def _function(tool: OfferedTool) -> dict[str, Any]:
    """Return a tool in the format of chat completions, converted from any dialect or from words."""
    if not tool.source:
        return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    if "parameters" in tool.source or "input_schema" not in tool.source:
        return {name: value for name, value in tool.source.items() if name != "type"}
    own = {name: value for name, value in tool.source.items() if name not in ("type", "input_schema")}
    return {**own, "parameters": tool.parameters}


class Observations(TypedDict):
    """The fields of a trial's record that are read from a log."""

    requests: tuple[ObservedRequest, ...]
    calls: tuple[ObservedCall, ...]
    strays: tuple[str, ...]


def read_log(
    wire: WireLog, tools: Sequence[ToolSpec], asked: Mapping[int, Arrival], called: Mapping[int, Arrival]
) -> Observations:
    """Read the requests and the calls of a trial from the server's log.

    Args:
        asked, called: the arrivals of requests to the model and of calls, by their place in the log.
    """
    names, strays = {tool.api: tool.name for tool in tools}, list[str]()
    requests = [ObservedRequest.of_log(at, call, tools, asked.get(at)) for at, call in enumerate(wire.model_calls)]
    calls: list[ObservedCall] = []
    for place, call in enumerate(wire.api_calls):
        if stray := _stray(call, names.get(call.api)):
            strays.append(stray)
        else:
            calls.append(ObservedCall.of_log(len(calls), call, names[call.api], called.get(place)))
    return {"requests": tuple(requests), "calls": tuple(calls), "strays": tuple(strays)}


def _stray(call: ApiCall, name: str | None) -> str:
    """Return the reason why no tool matches a call, or an empty text."""
    if name is not None and isinstance(call.arguments, dict):
        return ""
    sent = json.dumps({**call.api.model_dump(), "tool_input": call.arguments})[:200]
    if name is None:
        return f"a call of a tool that is not offered: {sent}"
    return f"a call of {name} with an input that is not a JSON object: {sent}"


def _error_message(call: ModelCall) -> str:
    error = parse_object(call.response.encode())[0].get("error") if call.cause else None
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else ""
