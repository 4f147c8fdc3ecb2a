"""Run trials of one adapter against a scripted model and scripted tools."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Sequence
from contextlib import aclosing
from copy import copy
from dataclasses import dataclass
from typing import Self, TypedDict, Unpack
from urllib.parse import urlsplit

from trialbed.contracts import BaseAgent
from trialbed.history import read_history
from trialbed.records import Limits, ModelEndpoint, Outcome, TrialKey, TrialSpec
from trialbed.texts import number_of
from trialbed.tools import ToolClient
from trialbed.worker import CommandAgent, WorkerTrial
from trialbed_adapter_lab.harness._oracle import Oracle
from trialbed_adapter_lab.harness._process import NetworkWatch, process_state
from trialbed_adapter_lab.harness._records import Observations, ObservedCall, ObservedRequest, TrialRecord
from trialbed_adapter_lab.harness._server import Chunks, HarnessServer, TrialSession
from trialbed_adapter_lab.harness._tools import PassingLoop, ScriptedTool, tool
from trialbed_adapter_lab.probe import FAILS_EARLY, CheckFailed
from trialbed_scripted import Line

QUERY = "What does the parrot say?"
SYSTEM_PROMPT = "You are in a test harness. Use the tools; then answer in plain text."
KEY = "harness-key"
MODEL = "harness-model"
MAX_STEPS = 8
TURNS_OF_THE_LOOP = 20
"""Loop iterations for due timers to complete."""

TIMEOUT = 30.0
"""Seconds that a trial may take; it needs a few hundredths, but machines can be slow."""

START = 60.0
"""Additional seconds for the first trial, when frameworks import most modules."""


class TrialSettings(TypedDict, total=False):
    """The settings of a trial that differ from the defaults, as ``Harness.prepare`` takes them."""

    tools: Sequence[ScriptedTool]
    query: str
    messages: Sequence[str]
    system_prompt: str
    max_steps: int
    model: str
    temperature: float | None
    max_tokens: int | None
    seed: int
    base_url: str
    timeout: float
    chunks: Chunks


@dataclass
class PreparedTrial:
    """A trial that can be run once. Its requests and calls can be read while it runs.

    Attributes:
        spec: the specification that a worker would get.
        seconds: that it may take.
    """

    harness: Harness
    server: HarnessServer
    session: TrialSession
    spec: TrialSpec
    seconds: float

    def __post_init__(self) -> None:
        self._trial = WorkerTrial(self.spec, _ignore_fork)

    @property
    def requests(self) -> tuple[ObservedRequest, ...]:
        """The requests to the model so far."""
        return self._observations()["requests"]

    @property
    def calls(self) -> tuple[ObservedCall, ...]:
        """The calls of Apis so far."""
        return self._observations()["calls"]

    @property
    def open_connections(self) -> int:
        """Connections to the model that the adapter has not closed."""
        return self.server.open_connections(self.session)

    def _observations(self) -> Observations:
        return self.server.do(self.session.observations)

    async def run(self) -> TrialRecord:
        """Run it.

        Raises:
            CheckFailed: it does not end in time.
        """
        try:
            if self.harness.client is not None:
                outcome = await self._outcome(self.harness.client)
            else:
                async with aclosing(ToolClient()) as client:
                    outcome = await self._outcome(client)
        except BaseException as error:
            self._look(self._trial.failed(error))
            raise
        return self._look(outcome)

    def _look(self, outcome: Outcome) -> TrialRecord:
        """Return the trial's record after the oracle has checked it, also for a cancelled trial."""
        record = TrialRecord(
            spec=self.spec,
            outcome=outcome,
            **self._observations(),
            adapter=_folder(self.harness.agent_class),
            connections=len(self.session.connections),
            is_program=self.harness.is_program,
            history=read_history(self.server.do(self.session.opened.wire_log)),
        )
        if not self.spec.has_turns:  # what holds of one question need not hold of later ones
            self.harness.oracle.look(record)
        return record

    async def _outcome(self, client: ToolClient) -> Outcome:
        trial = self._trial
        try:
            async with asyncio.timeout(self.seconds) as limit:
                outcome = await trial.run(self.harness.agent_class, client)
        except (Exception, SystemExit) as error:
            if limit.expired():
                raise self._timed_out() from error
            return trial.failed(error)
        # A run keeps the answer, but an adapter with a failing close() does not conform.
        return outcome if trial.close_error is None else trial.failed(trial.close_error)

    def _timed_out(self) -> CheckFailed:
        requests, calls = number_of(len(self.requests), "model request"), number_of(len(self.calls), "call")
        is_silent = self.harness.is_program and not self.requests
        return CheckFailed(
            f"expected the trial to end; seen: it was still running after {self.seconds:g} s, {requests} and {calls}",
            f"{FAILS_EARLY}, with CommandFailed: it does not end" if is_silent else "",
        )


class Harness:
    """Runs trials of one adapter. Use it as a context manager, or close it.

    The server of a run runs in a separate thread. The adapter runs on the caller's event loop, with the same
    code as a worker. Several trials can run at the same time.

    Args:
        agent_class: the adapter.
        network: notes contacted addresses; enter it before the adapter is imported
            to include connections made during the import.

    Attributes:
        process_state: the settings of the process before the first trial, which trials must not change.
        client: the client of the tools of all trials, as in a worker; if None, each trial has its own.
        oracle: looks at every request of every trial.
    """

    def __init__(self, agent_class: type[BaseAgent], network: NetworkWatch | None = None) -> None:
        self.agent_class = agent_class
        self.process_state = process_state()
        self._network = network or NetworkWatch().__enter__()
        self.client: ToolClient | None = None
        self.oracle = Oracle()
        self._is_started = False
        self._endpoints: list[tuple[str, int]] = []
        self._server = HarnessServer().__enter__()

    @property
    def is_async(self) -> bool:
        """The adapter answers on the event loop; otherwise it runs in a thread, which cannot be cancelled."""
        return inspect.iscoroutinefunction(self.agent_class.answer)

    @property
    def is_program(self) -> bool:
        """The agent is a program, which may print its answer alone."""
        return issubclass(self.agent_class, CommandAgent)

    @property
    def strays(self) -> tuple[str, ...]:
        """Requests to the harness's server that belong to no trial, as ``METHOD path``."""
        return tuple(self._server.strays)

    @property
    def dialects(self) -> tuple[str, ...]:
        """Return the dialects of all model requests so far."""
        return tuple(self._server.dialects)

    def contacts(self) -> list[str]:
        """Return the addresses that this process looked up or connected to, except the harness's and the endpoints'."""
        return self._network.contacts(self._server.address, *self._endpoints)

    def prepare(
        self,
        *script: Line,
        tools: Sequence[ScriptedTool] = (tool(),),
        query: str = QUERY,
        messages: Sequence[str] = (),
        system_prompt: str = SYSTEM_PROMPT,
        max_steps: int = MAX_STEPS,
        model: str = MODEL,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        seed: int = 0,
        base_url: str = "",
        timeout: float | None = None,
        chunks: Chunks = "tokens",
    ) -> PreparedTrial:
        """Return a trial that is ready to run.

        Args:
            script: the model's replies, request by request.
            messages: further user messages, each after an answer.
            tools: on offer; by default one tool that returns its arguments.
            base_url: of the model's endpoint; by default the harness's own.
            timeout: time limit in seconds; by default half a minute, and a minute more for the first trial.
            chunks: how answers are streamed, if requested.
        """
        limits = Limits(max_steps=max_steps, timeout=TIMEOUT if timeout is None else timeout)
        finish = self.agent_class.finish_tool
        user = (query, *messages) if messages else ()
        session = TrialSession(script, tools, limits, model=model, finish_tool=finish, chunks=chunks, turns=user)
        spec = TrialSpec.at(
            self._server.add(session),
            ModelEndpoint(
                base_url=base_url, api_key=KEY, model=model, temperature=temperature, max_tokens=max_tokens, seed=seed
            ),
            key=TrialKey(framework=self.agent_class.__name__, query_id="harness"),
            query=query,
            system_prompt=system_prompt,
            tools=session.registration.tools,
            limits=limits,
            has_turns=bool(messages),
        )
        if base_url:
            self._endpoints.append(_address(base_url))
        start = 0.0 if self._is_started or timeout is not None else START
        self._is_started = True
        return PreparedTrial(self, self._server, session, spec, limits.timeout + start)

    async def run(self, *script: Line, **conditions: Unpack[TrialSettings]) -> TrialRecord:
        """Run one trial with a fresh agent; takes the arguments of ``prepare``.

        Raises:
            CheckFailed: the trial does not end in time.
        """
        return await self.prepare(*script, **conditions).run()

    def with_agent(self, agent_class: type[BaseAgent]) -> Harness:
        """Return a harness on the same server for another adapter; the oracle of this one does not see its trials."""
        other = copy(self)
        other.agent_class, other.oracle = agent_class, Oracle()
        return other

    async def pass_time(self, seconds: float) -> None:
        """Advance the adapter's event loop by this time; a loop other than ``PassingLoop`` advances only a little.

        Timers and timeouts of the loop fire normally. Code in threads, and blocking sockets, do not notice.
        """
        loop = asyncio.get_running_loop()
        if isinstance(loop, PassingLoop):
            loop.pass_time(seconds)
        for _ in range(TURNS_OF_THE_LOOP):
            await asyncio.sleep(0.001)

    def clear(self) -> None:
        """Cancel every request that is still being answered, and forget all trials."""
        self._server.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server, and stop watching the network."""
        self._server.__exit__(None, None, None)
        self._network.__exit__(None, None, None)


def _ignore_fork() -> None:
    """Do nothing. A worker would end its fork here, but the harness must not end this process."""


def _folder(agent_class: type[BaseAgent]) -> str:
    """Return the folder of the adapter's package, or the file of its only module; empty if unknown."""
    file = getattr(sys.modules.get(agent_class.__module__), "__file__", None)
    package, _, _ = agent_class.__module__.partition(".")
    folder = getattr(sys.modules.get(package), "__path__", None)
    return next(iter(folder), "") if folder else file or ""


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or {"https": 443}.get(parts.scheme, 80)
