"""Records of a trial: requests to the model, calls of Apis, and the outcome."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from trialbed.records import Answer, Failure, ToolSpec
from trialbed.wire import ModelRequest, OfferedTool
from trialbed.wire.dialects import CHAT, Dialect, dialect
from trialbed.wire.offers import Offers


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
        body: the JSON object that was sent.
        headers: names in lower case.
        tools: those of the trial.
        refused: whether it was past the step limit, and refused as the gateway does it.
        dialect: the name of the dialect in which it is written.
    """

    body: dict[str, Any]
    headers: Mapping[str, str]
    tools: Sequence[ToolSpec] = ()
    refused: bool = False
    dialect: str = CHAT

    @property
    def spoken(self) -> Dialect:
        """The dialect itself."""
        return dialect(self.dialect)

    @cached_property
    def request(self) -> ModelRequest:
        """The request in the form that all dialects share."""
        return self.spoken.read_request(self.body)

    @property
    def roles(self) -> list[str]:
        """The roles of the conversation so far."""
        return [message.role for message in self.request.messages]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far."""
        return [message.source for message in self.request.messages if isinstance(message.source, dict)]

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
    """

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class TrialRecord:
    """A trial that was run: the adapter's result, and the requests that the harness received.

    Attributes:
        answer: None if the trial failed; ``failure`` says why.
        requests: to the model, in order of arrival.
        calls: of Apis, in order of arrival.
        strays: other requests of the trial, as ``METHOD path``.
        wall: seconds.
        connections: how many connections to the model were opened.
        adapter: the folder of the adapter's package.
        methods: where the agent's own methods are defined, as a traceback writes it.
    """

    answer: Answer | None
    failure: Failure | None
    requests: tuple[ObservedRequest, ...]
    calls: tuple[ObservedCall, ...]
    strays: tuple[str, ...] = ()
    wall: float = 0.0
    connections: int = 0
    adapter: str = ""
    methods: Mapping[str, str] = field(default_factory=dict)


def _function(tool: OfferedTool) -> dict[str, Any]:
    """Return a tool by the names of chat completions, whatever dialect offers it."""
    if "parameters" in tool.source or "input_schema" not in tool.source:
        return {name: value for name, value in tool.source.items() if name != "type"}
    own = {name: value for name, value in tool.source.items() if name not in ("type", "input_schema")}
    return {**own, "parameters": tool.parameters}
