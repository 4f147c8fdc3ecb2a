"""Records of a trial: requests to the model, calls of Apis, and the outcome."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from trialbed.records import Answer, Failure, Outcome, ToolSpec, TrialSpec, Usage
from trialbed.wire import ModelRequest, OfferedTool
from trialbed.wire.dialects import Dialect
from trialbed.wire.offers import Offers
from trialbed_scripted import ReceivedRequest, Turn
from trialbed_scripted.policies import in_calls


@dataclass(kw_only=True)
class HarnessRequest:
    """A request that the harness received.

    Attributes:
        number: among the trial's of its kind, from 0.
        started, ended: on ``time.perf_counter``; ``ended`` is None until it has been answered.
        dropped: whether the adapter closed the connection before the answer was sent.
    """

    number: int
    started: float = field(default_factory=time.perf_counter)
    ended: float | None = None
    dropped: bool = False

    @property
    def is_over(self) -> bool:
        """It was answered, or its connection is closed."""
        return self.dropped or self.ended is not None

    @contextmanager
    def note_end(self) -> Iterator[None]:
        """Note the end of the request, which is answered meanwhile."""
        try:
            yield
        except (asyncio.CancelledError, ConnectionError):
            self.dropped = True
            raise
        self.ended = time.perf_counter()


@dataclass(kw_only=True)
class ObservedRequest(HarnessRequest):
    """A request to the model.

    Attributes:
        received: the request as it came.
        tools: those of the trial.
        refused: whether it was past the step limit, and refused as the gateway does it.
        usage: the tokens that its answer reports; None where it reports none.
        said: the turn that answered it, with the names under which it offers the tools; None where it is not known.
        error: the message of the error that answered it; empty if none did.
    """

    received: ReceivedRequest
    tools: Sequence[ToolSpec] = ()
    refused: bool = False
    usage: Usage | None = None
    said: Turn | None = None
    error: str = ""

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
        """The name of the dialect in which it is written."""
        return self.received.dialect

    @property
    def spoken(self) -> Dialect:
        """The dialect itself."""
        return self.received.spoken

    @cached_property
    def request(self) -> ModelRequest:
        """The request in the form that all dialects share, with tools and calls that it has in words as such."""
        return in_calls(self.received.asked)

    @property
    def roles(self) -> list[str]:
        """The roles of the conversation so far."""
        return [message.role for message in self.request.messages]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far."""
        return [message.source for message in self.received.asked.messages if isinstance(message.source, dict)]

    @property
    def functions(self) -> list[dict[str, Any]]:
        """The tools offered: ``name``, ``description``, ``parameters`` of each, and further fields, in order."""
        return [_function(tool) for tool in self.request.tools]

    @cached_property
    def offers(self) -> Offers:
        """The functions that stand for the tools, under whatever names they are offered."""
        return Offers(self.tools, self.request.tools)

    def offered_name(self, tool: str) -> str:
        """Return the name under which a tool is offered; its own if it is not."""
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
        """``(id, name, arguments)`` of every call in the assistant's messages, as they are sent back, in order.

        The names are those under which the tools are offered.
        """
        return [(call.id, call.name, call.arguments) for message in self.request.messages for call in message.calls]

    def said_by(self, *roles: str) -> list[str]:
        """Return the texts of the messages with one of these roles; of all without roles."""
        return [message.text for message in self.request.messages if not roles or message.role in roles]


@dataclass(kw_only=True)
class ObservedCall(HarnessRequest):
    """A call of an Api.

    Attributes:
        tool: the name of the tool that stands for the Api.
        arguments: as received.
        reply: the text that an agent is to get; None until it is there, or where it is not known.
    """

    tool: str
    arguments: dict[str, Any]
    reply: str | None = None


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """A trial that was run: the adapter's result, and the requests that the harness received.

    Attributes:
        spec: the specification that the worker got.
        outcome: the adapter's result.
        requests: to the model, in order of arrival.
        calls: of Apis, in order of arrival.
        strays: other requests of the trial, as ``METHOD path``.
        connections: how many connections to the model were opened.
        adapter: the folder of the adapter's package.
        methods: where the agent's own methods are defined, as a traceback writes it.
        is_program: whether the agent is a program, which may print its answer alone.
    """

    spec: TrialSpec
    outcome: Outcome
    requests: tuple[ObservedRequest, ...]
    calls: tuple[ObservedCall, ...]
    strays: tuple[str, ...] = ()
    connections: int = 0
    adapter: str = ""
    methods: Mapping[str, str] = field(default_factory=dict)
    is_program: bool = False

    @property
    def answer(self) -> Answer | None:
        """The answer; None if the trial failed."""
        return self.outcome.answer

    @property
    def makes_claims(self) -> bool:
        """Whether there is an answer that says which calls were made."""
        return self.answer is not None and not (self.is_program and not self.answer.calls)

    @property
    def failure(self) -> Failure | None:
        """The reason why the trial failed; None if it did not."""
        return self.outcome.failure


def _function(tool: OfferedTool) -> dict[str, Any]:
    """Return a tool by the names of chat completions, whatever dialect or words offer it."""
    if not tool.source:
        return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    if "parameters" in tool.source or "input_schema" not in tool.source:
        return {name: value for name, value in tool.source.items() if name != "type"}
    own = {name: value for name, value in tool.source.items() if name not in ("type", "input_schema")}
    return {**own, "parameters": tool.parameters}
