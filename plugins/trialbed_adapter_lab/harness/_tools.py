"""Scripted tools and the answers of the Apis behind them; and what holds these or the model back for a while."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context
from dataclasses import dataclass
from typing import Any, TypeVarTuple, Unpack

from trialbed.records import ApiRef, ToolSpec
from trialbed_adapter_lab.harness._process import wait_until
from trialbed_adapter_lab.harness._records import ObservedCall, ObservedRequest
from trialbed_scripted import ModelTurn, Response

TEXT_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


@dataclass(frozen=True)
class ApiReply:
    """An API's answer, which is a response (JSON), an error text or an HTTP status."""

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
    """Answer every call with this value; texts are unchanged, anything else becomes JSON."""
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

Ts = TypeVarTuple("Ts")

SLEEP = "_set_result_unless_cancelled"
"""The callback that ends ``asyncio.sleep``."""


class PassingLoop(asyncio.SelectorEventLoop):
    """The usual loop with a clock that can be advanced; timers due by then fire in its next turn.

    Attributes:
        sleeps: the seconds of every ``asyncio.sleep`` so far.
    """

    def __init__(self) -> None:
        self._passed = 0.0
        self.sleeps: list[float] = []
        super().__init__()

    def call_later(
        self, delay: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call a function after this many seconds."""
        if getattr(callback, "__name__", "") == SLEEP:
            self.sleeps.append(delay)
        return super().call_later(delay, callback, *args, context=context)

    def time(self) -> float:
        """Return the loop's time in seconds, which is the system's time plus all skipped time."""
        return super().time() + self._passed

    def pass_time(self, seconds: float, then: Callable[[], object] | None = None) -> None:
        """Skip this many seconds, and call a function once timers have fired; called on the loop."""
        self._passed += seconds
        if then is not None:
            self.call_soon(self.call_soon, then)


DelayedReply = Callable[[ObservedRequest], Awaitable[ModelTurn | Response]]
"""A line of a script that waits before the model replies."""

MOMENT = 0.01
"""Seconds for a client with an expired timeout to give up."""

LONGEST_TURN = 1.0
"""Seconds that a turn of the adapter's loop is waited for; an adapter may hold it until it has its answer."""


class SharedEvent:
    """An event that any thread can set, and any event loop can wait for."""

    _is_set = False

    def is_set(self) -> bool:
        """Return whether it has been set."""
        return self._is_set

    def set(self) -> None:
        """Set it; setting it again changes nothing."""
        self._is_set = True

    async def wait(self, seconds: float) -> bool:
        """Wait until it is set, at most this long; returns whether it is."""
        return await wait_until(self.is_set, seconds)


class Hold(ABC):
    """Holds a tool or the model back for a while."""

    @abstractmethod
    async def wait(self) -> None:
        """Wait until it is over."""

    def tool(self, behave: Behaviour = echo) -> Behaviour:
        """Return a behaviour that waits first."""

        async def after_wait(call: ObservedCall) -> ApiReply:
            await self.wait()
            return await behave(call)

        return after_wait

    def reply(self, reply: ModelTurn | Response) -> DelayedReply:
        """Return a reply of the model that waits first."""

        async def after_wait(_: ObservedRequest) -> ModelTurn | Response:
            await self.wait()
            return reply

        return after_wait


class Delay(Hold):
    """Delays a tool or the model by some of the adapter's time. Create it on the adapter's event loop.

    A ``PassingLoop`` skips the time immediately; a usual loop hardly does.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()

    async def wait(self) -> None:
        """Let the time pass, and timers that were due in it fire."""
        if isinstance(self._loop, PassingLoop):
            # A busy machine may not come to the loop within a moment.
            fired = SharedEvent()
            self._loop.call_soon_threadsafe(self._loop.pass_time, self._seconds, fired.set)
            await fired.wait(LONGEST_TURN)
        await asyncio.sleep(MOMENT)


class Latch(Hold):
    """Holds a tool or the model back until the test opens it.

    Args:
        timeout: seconds after which waiting ends.

    Attributes:
        reached: set when something waits at the latch for the first time.
        opened: set by ``open``.
    """

    def __init__(self, timeout: float = 60.0) -> None:
        self.reached = SharedEvent()
        self.opened = SharedEvent()
        self._timeout = timeout

    def open(self) -> None:
        """Let everything pass, now and later."""
        self.opened.set()

    async def wait(self) -> None:
        """Reach the latch, and wait until it is open."""
        self.reached.set()
        await self.opened.wait(self._timeout)


class Barrier(Hold):
    """Holds tools or the model back until this many wait at the same time.

    After a wait in vain the barrier is broken, and lets everything pass.

    Args:
        parties: how many must wait.
        timeout: seconds after which the barrier breaks.

    Attributes:
        all_arrived: whether all parties waited at the same time.
    """

    def __init__(self, parties: int, timeout: float = 5.0) -> None:
        self._missing = parties
        self._over = SharedEvent()
        self._timeout = timeout
        self.all_arrived = False

    async def wait(self) -> None:
        """Arrive, and wait for the others."""
        self._missing -= 1
        if self._missing == 0 and not self._over.is_set():
            self.all_arrived = True
            self._over.set()
        if not await self._over.wait(self._timeout):
            self._over.set()
