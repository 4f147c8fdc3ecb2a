"""Agents that are functions, classes or objects of this process."""

from __future__ import annotations

import asyncio
import encodings.idna  # noqa: F401 - used by calls of tools: a fork would wait for ever for an import of another thread
import inspect
import logging
import platform
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import cache, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

import httpcore  # noqa: F401 - as above

from trialbed.answers import answer_names, read_answer
from trialbed.contracts import BaseAgent, Executor
from trialbed.errors import AnswerError, NothingMeasured, UsageError
from trialbed.foreign_code import ForeignCode, LateCode, StuckCode
from trialbed.installed import own_version
from trialbed.records import IN_PROCESS, Answer, Failure, FailureKind, FrameworkInfo, Outcome, TrialSpec
from trialbed.tracebacks import exception_text, foreign_traceback
from trialbed.wire.addresses import mcp_url

if TYPE_CHECKING:
    from trialbed.tools import Tool

LOG = logging.getLogger("trialbed.engine")

CLOSING_SECONDS = 10.0
"""That an agent has to close after its trial, which has its answer or failure by then."""

Tools = Callable[[str], list[Any]]
"""Makes the tools of a trial in a form, each time the same ones."""

ARGUMENTS: Mapping[str, Callable[[TrialSpec], Any]] = {
    "query": lambda spec: spec.query,
    "endpoint": lambda spec: spec.endpoint,
    "base_url": lambda spec: spec.endpoint.base_url,
    "api_key": lambda spec: spec.endpoint.api_key,
    "model": lambda spec: spec.endpoint.model,
    "seed": lambda spec: spec.endpoint.seed,
    "limits": lambda spec: spec.limits,
    "system_prompt": lambda spec: spec.system_prompt,
    "server_url": lambda spec: spec.server_url,
    "mcp_url": lambda spec: mcp_url(spec.server_url),
}
"""The values that an agent gets by the names of its parameters, in addition to its tools."""

ADDRESSES = ("server_url", "mcp_url")
"""The parameters that are addresses for calling tools."""

HISTORY = "history"
"""The parameter for the earlier messages of a conversation, as dictionaries with ``role`` and ``content``."""

TOOL_FORMS: Mapping[str, Callable[[Tool, bool], Any]] = {
    # An agent of a program that uses LangChain may hand its tools to LangChain, which takes only its own.
    "tools": lambda tool, _: tool.as_langchain() if "langchain_core" in sys.modules else tool,
    "functions": lambda tool, is_async: tool.as_function(is_async=is_async),
    "langchain_tools": lambda tool, _: tool.as_langchain(),
    "openai_tools": lambda tool, _: tool.as_openai(),
}
"""The forms of its tools, by the names of parameters; functions are async for an agent that is."""


class LiveAgent:
    """One agent of this process.

    * A function is called for each trial, several trials at a time.
    * A class with ``answer`` is instantiated for each trial, several trials at a time.
    * An object with ``answer`` has one trial after the other, since it may keep something of each.

    The function, the method ``answer`` and the class get by name what they ask for: ``query``, ``history``, and the
    others of ``ARGUMENTS`` and ``TOOL_FORMS``. The first parameter is the query if no name is one of these. Any other
    needs a default.

    Raises:
        UsageError: it is something else, or asks for something else.
    """

    def __init__(self, label: str, agent: Any) -> None:
        self.label = label
        self.agent = agent
        self.is_class = isinstance(agent, type) and callable(getattr(agent, "answer", None))
        self.is_object = not self.is_class and callable(getattr(agent, "answer", None))
        if not (self.is_class or self.is_object or (callable(agent) and not isinstance(agent, type))):
            raise UsageError(
                f"{label}: {type(agent).__name__} is not an agent: neither a function nor an object with answer(query)"
            )
        self.answering = agent.answer if self.is_class or self.is_object else agent
        self._asked = _name_arguments(label, self.answering, method=self.is_class)
        made_by_name = self.is_class and not issubclass(agent, BaseAgent)
        self._made_with = _name_arguments(label, agent, query=False) if made_by_name else ()
        self.turn = asyncio.Lock() if self.is_object else None
        self.code = ForeignCode(agent)
        self.stuck = False

    @property
    def takes_tools(self) -> bool:
        """Return whether it gets the trial's tools, or the address for calling them."""
        asked = {*self._asked, *self._made_with}
        return callable(getattr(self.agent, "bind_tools", None)) or not asked.isdisjoint({*TOOL_FORMS, *ADDRESSES})

    @property
    def takes_prompt(self) -> bool:
        """Return whether it gets the run's system prompt."""
        is_adapter = self.is_class and issubclass(self.agent, BaseAgent)
        return is_adapter or "system_prompt" in {*self._asked, *self._made_with}

    @property
    def converses(self) -> bool:
        """Return whether it can be asked again, as a function that gets the history, or an object that may keep it."""
        if self.is_class and issubclass(self.agent, BaseAgent):
            return bool(self.agent.converses)
        return self.is_class or self.is_object or HISTORY in self._asked

    @property
    def version(self) -> str:
        """Return the name of the function or class, with its module."""
        named = self.agent if hasattr(self.agent, "__qualname__") else type(self.agent)
        return ".".join(filter(None, (named.__module__, named.__qualname__.rpartition("<locals>.")[2])))

    async def make(self, spec: TrialSpec, code: ForeignCode) -> tuple[Any, Tools]:
        """Return the agent of a trial, and what makes its tools in a form, each time the same ones.

        Args:
            code: calls what is the agent's.
        """
        # Its HTTP client takes long to import, and runs of workers do not need it.
        from trialbed.tools import Tool, ValueTool

        is_async = inspect.iscoroutinefunction(self.answering)
        kind = Tool if hasattr(self.agent, "bind_tools") else ValueTool
        offered = [kind(tool, spec.server_url) for tool in spec.tools]
        tools = cache(lambda form: [TOOL_FORMS[form](tool, is_async) for tool in offered])
        if not self.is_class:
            return self.agent, tools
        if issubclass(self.agent, BaseAgent):
            make = partial(self.agent, spec.endpoint, spec.limits, system_prompt=spec.system_prompt)
            return await code.call(make), tools
        return await code.call(_with_arguments(self.agent, self._made_with, spec, tools)), tools

    async def begin(
        self, agent: Any, tools: Tools, spec: TrialSpec, code: ForeignCode
    ) -> Callable[[str], Awaitable[Answer]]:
        """Hand an agent its tools, and return a function that has it answer a message of the user."""
        if callable(getattr(agent, "bind_tools", None)):
            await code.call(partial(agent.bind_tools, tools=tools("tools"), server_url=spec.server_url))
        answering = agent.answer if self.is_class or self.is_object else agent
        history: list[dict[str, str]] = []

        async def answer_to(text: str) -> Answer:
            asked = spec.model_copy(update={"query": text})
            value = await code.call(_with_arguments(answering, self._asked, asked, tools, [*history]))
            read = partial(read_answer, value, answer_names(spec.tools))
            # Others may be objects of the agent's that work when they are read.
            found = read() if type(value) is str else cast("Answer", await code.call(read))
            said = {"role": "assistant", "content": found.final_answer}
            history.extend([{"role": "user", "content": text}, said])
            return found

        return answer_to

    async def answer(self, agent: Any, tools: Tools, spec: TrialSpec, code: ForeignCode) -> Answer:
        """Return its answer to the last message of the user."""
        answer_to = await self.begin(agent, tools, spec, code)
        if not spec.has_turns:
            return await answer_to(spec.query)
        from trialbed.conversation import converse  # most tasks have one message

        return await converse(spec, answer_to)

    async def close(self, closing: Callable[[], Any], code: ForeignCode) -> None:
        """Close the agent of a trial; that it fails takes nothing from the trial."""
        try:
            await code.call(closing, CLOSING_SECONDS)
        except Exception as error:  # noqa: BLE001 - the user's code: its trial is over
            problem = f"{error}" if isinstance(error, StuckCode) else f"raised {exception_text(error, self.agent)}"
            LOG.warning("an agent of %s: close() %s; its trial is not affected", self.version, problem)


class LiveExecutor(Executor):
    """Runs agents of this process, each with its own event loop, and in threads.

    Python code that does not return in time is ended. A thread in C code cannot be killed. If an object's ``answer``
    goes on there, the run ends, because its later requests could be attributed to its next trial.

    Args:
        agents: label in the run -> the agent.
    """

    def __init__(self, agents: Mapping[str, Any]) -> None:
        super().__init__()
        self._agents = {label: LiveAgent(label, agent) for label, agent in agents.items()}

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the event loops; the agents belong to the caller."""
        for agent in self._agents.values():
            await agent.code.stop(0.0)
            agent.code.end()

    def without_prompt(self) -> list[str]:
        """Return the labels of the agents that do not get the run's system prompt."""
        return [label for label, agent in self._agents.items() if not agent.takes_prompt]

    async def describe(self, framework: str) -> FrameworkInfo:
        """Return the framework, described by the name of the function or class."""
        return FrameworkInfo(
            name=framework,
            version=self._agents[framework].version,
            adapter=IN_PROCESS,
            adapter_version=own_version(),
            python=platform.python_version(),
            takes_tools=self._agents[framework].takes_tools,
            converses=self._agents[framework].converses,
        )

    async def execute(self, spec: TrialSpec) -> Outcome:
        """Run one trial in this process."""
        agent = self._agents[spec.key.framework]
        async with agent.turn or nullcontext():
            return await self._execute(agent, spec)

    async def _execute(self, agent: LiveAgent, spec: TrialSpec) -> Outcome:
        if agent.stuck:
            raise NothingMeasured(
                f"{agent.label}: answer() did not return within {spec.limits.timeout:g} s and is still running; an "
                "in-process agent cannot be killed. Raise timeout, or write an adapter, whose workers are killed."
            )
        started_at, began = datetime.now(UTC), time.perf_counter()
        made, answer, failure, is_late = None, None, None, False
        code = ForeignCode(agent.agent, in_order=True, beside=agent.code)

        async def work() -> Answer:
            nonlocal made
            made, tools = await agent.make(spec, code)
            return await agent.answer(made, tools, spec, code)

        try:
            try:
                answer = await self._in_time(work(), spec)
            except LateCode:
                is_late = True
            except AnswerError as error:
                failure = _failure("answer", error, agent.agent)
            except StuckCode as error:
                failure = Failure(kind="agent", message=f"another trial of this agent, in its event loop, {error}")
            except Exception as error:  # noqa: BLE001 - foreign code: its fault is its trial's failure
                failure = _failure("agent", error, agent.agent)
            except asyncio.CancelledError:
                await code.stop(0.0)
                raise
            wall_time = time.perf_counter() - began
            if is_late:
                stuck = await code.stop(spec.limits.timeout, wholly=agent.is_object)
                agent.stuck = agent.is_object and stuck is not None and stuck.goes_on
                place = "" if stuck is None else stuck.place
                failure = Failure(kind="timeout", message=f"no answer in {spec.limits.timeout:g} s{place}")
        finally:
            if agent.is_class and callable(closing := getattr(made, "close", None)):
                await agent.close(closing, code)
            code.end()
        return Outcome(started_at=started_at, wall_time=wall_time, answer=answer, failure=failure)

    async def _in_time(self, work: Coroutine[Any, Any, Answer], spec: TrialSpec) -> Answer:
        """Return an answer within the time of a trial, without counting time spent waiting for the endpoint.

        Raises:
            LateCode: the time is used up.
        """
        loop, seconds, waited = asyncio.get_running_loop(), spec.limits.timeout, 0.0
        task, started = loop.create_task(work), loop.time()
        try:
            while not task.done() and (left := started + seconds + waited - loop.time()) > 0:
                if not (await asyncio.wait({task}, timeout=left))[0]:
                    waited = await self.time_waited(spec.trial)
            if not task.done():
                raise LateCode(seconds, "")
            return await task
        finally:
            task.cancel()


def _name_arguments(label: str, function: Any, *, query: bool = True, method: bool = False) -> tuple[str, ...]:
    """Return the names of the arguments that a function asks for; the name is empty for a query that comes first.

    Args:
        query: whether its first parameter is the query if it has no known name.
        method: whether its first parameter is the object.

    Raises:
        UsageError: a parameter has neither a known name nor a default.
    """
    parameters = _parameters(function)[1 if method else 0 :]
    known = (*TOOL_FORMS, *ARGUMENTS, HISTORY)
    asked = [parameter.name for parameter in parameters if parameter.name in known]
    if query and parameters and parameters[0].name not in known:
        asked, parameters = ["", *asked], parameters[1:]
    for parameter in parameters:
        if parameter.default is parameter.empty and parameter.name not in known:
            raise UsageError(
                f"{label}: unknown parameter {parameter.name!r} of {getattr(function, '__qualname__', label)}; agents "
                f"get what their parameters name: {', '.join(known)}. Give others a default"
            )
    return tuple(asked)


def _parameters(function: Any) -> list[inspect.Parameter]:
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C
        return [inspect.Parameter("query", inspect.Parameter.POSITIONAL_ONLY)]
    named = [one for one in found if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    return named or [one for one in found if one.kind is one.VAR_POSITIONAL]


def _with_arguments(
    function: Any, asked: Sequence[str], spec: TrialSpec, tools: Tools, history: Sequence[Mapping[str, str]] = ()
) -> Callable[[], Any]:
    """Return a function with the arguments that it asks for; the one without a name comes first."""
    forms: dict[str, Callable[[], Any]] = {name: partial(tools, name) for name in TOOL_FORMS}
    forms |= {name: partial(value, spec) for name, value in ARGUMENTS.items()} | {HISTORY: lambda: [*history]}
    values = {name: forms[name]() for name in asked if name}
    return partial(function, *([spec.query] if "" in asked else []), **values)


def _failure(kind: FailureKind, error: BaseException, code: object) -> Failure:
    return Failure(kind=kind, message=exception_text(error, code), detail=foreign_traceback(error))
