"""Tools on the stage, and how their Apis behave."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trialbed.records import ApiRef, ToolSpec

if TYPE_CHECKING:
    from trialbed_adapter_kit._recording import ModelRequest, ToolCall
    from trialbed_adapter_kit._script import Raw, Said

TEXT_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


@dataclass(frozen=True)
class ApiReply:
    """How an Api answers: a response (JSON), an error text, or a status of the server."""

    response: Any = ""
    error: str = ""
    status: int = 200


Behaviour = Callable[["ToolCall"], Awaitable[ApiReply]]
"""Answers a call; runs on the stage's loop."""


@dataclass(frozen=True)
class StageTool:
    """A tool that a trial is offered, and the Api behind it."""

    spec: ToolSpec
    behave: Behaviour

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.spec.name


async def echo(call: ToolCall) -> ApiReply:
    """Answers with the arguments."""
    return ApiReply(call.arguments)


def returns(response: Any) -> Behaviour:
    """Answers every call with this: a text as it is, anything else as JSON."""
    return _always(ApiReply(response))


def errs(error: str, response: Any = "") -> Behaviour:
    """Answers every call with an error of the Api."""
    return _always(ApiReply(response, error))


def breaks(status: int) -> Behaviour:
    """Answers every call with a status of the server."""
    return _always(ApiReply(status=status))


def tool(
    name: str = "Echo_text",
    behave: Behaviour = echo,
    *,
    parameters: Mapping[str, Any] = TEXT_SCHEMA,
    description: str = "Returns its arguments.",
    api: ApiRef | None = None,
) -> StageTool:
    """A tool for a trial on the stage."""
    api = api or ApiRef(category="Stage", tool_name=name, api_name="call")
    return StageTool(ToolSpec(name=name, description=description, parameters=dict(parameters), api=api), behave)


class Cue:
    """A sign that any thread gives once and any event loop can wait for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self.given = False

    def give(self) -> None:
        """Give the sign; giving it again changes nothing."""
        with self._lock:
            self.given = True
            waiting, self._waiting = self._waiting, []
        for loop, event in waiting:
            with contextlib.suppress(RuntimeError):  # a loop that was closed waits no more
                loop.call_soon_threadsafe(event.set)

    async def wait(self, seconds: float) -> bool:
        """Whether it is given within this time."""
        event = asyncio.Event()
        with self._lock:
            if self.given:
                return True
            self._waiting.append((asyncio.get_running_loop(), event))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), seconds)
        return self.given


class Held:
    """Something that begins, and then waits until it is released.

    Attributes:
        begun: given when it begins.
        released: give it, and what is held goes on.
    """

    def __init__(self, patience: float = 60.0) -> None:
        self.begun = Cue()
        self.released = Cue()
        self._patience = patience

    def tool(self, behave: Behaviour = echo) -> Behaviour:
        """A behaviour that is held."""

        async def wait(call: ToolCall) -> ApiReply:
            await self._hold()
            return await behave(call)

        return wait

    def line(self, said: Said | Raw) -> Callable[[ModelRequest], Awaitable[Said | Raw]]:
        """A line of the model that is held."""

        async def wait(_: ModelRequest) -> Said | Raw:
            await self._hold()
            return said

        return wait

    async def _hold(self) -> None:
        self.begun.give()
        await self.released.wait(self._patience)


class Meeting:
    """A place where so many must be at the same time; whoever waits in vain goes on, and so does everybody after.

    Attributes:
        met: whether all were there.
    """

    def __init__(self, members: int, patience: float = 5.0) -> None:
        self._missing = members
        self._over = Cue()
        self._patience = patience
        self.met = False

    def tool(self, behave: Behaviour = echo) -> Behaviour:
        """A behaviour that first meets the others."""

        async def wait(call: ToolCall) -> ApiReply:
            await self.come()
            return await behave(call)

        return wait

    def line(self, said: Said | Raw) -> Callable[[ModelRequest], Awaitable[Said | Raw]]:
        """A line of the model that first meets the others."""

        async def wait(_: ModelRequest) -> Said | Raw:
            await self.come()
            return said

        return wait

    async def come(self) -> None:
        """Be there, and wait for the others."""
        self._missing -= 1
        if self._missing == 0 and not self._over.given:
            self.met = True
            self._over.give()
        if not await self._over.wait(self._patience):
            self._over.give()


def _always(reply: ApiReply) -> Behaviour:
    async def answer(_: ToolCall) -> ApiReply:
        return reply

    return answer
