"""An agent that is a live object in this process."""

from __future__ import annotations

import asyncio
import inspect
import platform
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from types import TracebackType
from typing import Any

from trialbed.answers import read_answer
from trialbed.contracts import Executor
from trialbed.errors import AnswerError, NothingMeasured
from trialbed.records import Answer, Failure, FailureKind, FrameworkInfo, Outcome, TrialSpec


class LiveExecutor(Executor):
    """Runs one agent object in this process, one trial after the other.

    A thread cannot be killed: an agent whose ``answer`` does not return in time ends the run, since what it
    would still send could be taken for the next trial's.

    Args:
        agent: anything with ``answer(query)``; ``bind_tools`` is called where it exists.
        name: the framework's name in the results.
    """

    def __init__(self, agent: Any, name: str) -> None:
        super().__init__()
        self._agent = agent
        self._name = name
        self._stuck = False
        self._first = True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: the agent belongs to the caller."""

    async def describe(self, framework: str) -> FrameworkInfo:
        """The framework, described by the object's class."""
        return FrameworkInfo(
            name=framework,
            version=f"{type(self._agent).__module__}.{type(self._agent).__qualname__}",
            adapter="in process",
            adapter_version=version("trialbed"),
            python=platform.python_version(),
        )

    async def execute(self, spec: TrialSpec) -> Outcome:
        """Run one trial in this process."""
        if self._stuck:
            raise NothingMeasured(
                f"{self._name}: answer() did not return within {spec.limits.timeout:g} s and is still running; an "
                "in-process agent cannot be killed. Raise timeout, or write an adapter, whose workers are killed."
            )
        started_at, began = datetime.now(UTC), time.perf_counter()
        answer, failure = None, None
        deadline = asyncio.timeout(None)
        try:
            async with deadline, self._watching(deadline, spec):
                answer = await self._answer(spec)
        except TimeoutError as error:
            failure = self._timeout(spec) if deadline.expired() else _failure("agent", error)
        except AnswerError as error:
            failure = _failure("answer", error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code: its fault is its trial's failure
            failure = _failure("agent", error)
        wall_time = time.perf_counter() - began
        first, self._first = self._first, False
        return Outcome(started_at=started_at, wall_time=wall_time, answer=answer, failure=failure, first=first)

    @asynccontextmanager
    async def _watching(self, deadline: asyncio.Timeout, spec: TrialSpec) -> AsyncIterator[None]:
        watch = asyncio.create_task(self._watch(deadline, spec))
        try:
            yield
        finally:
            watch.cancel()

    async def _watch(self, deadline: asyncio.Timeout, spec: TrialSpec) -> None:
        """Let the deadline pass when the trial has used up its time, in which waiting does not count."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        due = started + spec.limits.timeout
        while (left := due - loop.time()) > 0:
            await asyncio.sleep(left)
            due = started + spec.limits.timeout + await self.time_waited(spec.trial)
        deadline.reschedule(loop.time())

    async def _answer(self, spec: TrialSpec) -> Answer:
        from trialbed.tools import Tool  # its HTTP client takes long to import, and runs of workers do not need it

        made = [Tool(tool, spec.server_url) for tool in spec.tools]
        # An agent of a program that uses LangChain may hand its tools to LangChain, which takes only its own.
        tools = [tool.as_langchain() for tool in made] if "langchain_core" in sys.modules else made
        if hasattr(self._agent, "bind_tools"):
            await _call(self._agent.bind_tools, tools=tools, server_url=spec.server_url)
        value = await _call(self._agent.answer, spec.query)
        names = {tool.name: tool.api for tool in tools} | {tool.api.title: tool.api for tool in tools}
        return read_answer(value, names)

    def _timeout(self, spec: TrialSpec) -> Failure:
        self._stuck = not inspect.iscoroutinefunction(self._agent.answer)
        return Failure(kind="timeout", message=f"no answer in {spec.limits.timeout:g} s")


async def _call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(*arguments, **named)
    value = await asyncio.to_thread(function, *arguments, **named)
    return await value if inspect.isawaitable(value) else value


def _failure(kind: FailureKind, error: BaseException) -> Failure:
    text = f"{type(error).__name__}: {error}"
    return Failure(kind=kind, message=text, detail="".join(traceback.format_exception(error)))
