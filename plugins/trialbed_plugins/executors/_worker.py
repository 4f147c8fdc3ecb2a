"""One worker process, from its start to its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Self

import psutil

from trialbed.agent_programs import AgentCommand
from trialbed.records import Failure, FrameworkInfo, Outcome, Record, TrialSpec, framework_driver
from trialbed.texts import number_of
from trialbed.wire.redaction import redact
from trialbed.worker import (
    SUPERVISED,
    Begin,
    CommandSpec,
    Done,
    Failed,
    Hello,
    Ready,
    Started,
    message_line,
    supervised_command,
    worker_command,
    worker_environment,
)
from trialbed_plugins.executors import _processes as processes
from trialbed_plugins.executors._clock import Deadline
from trialbed_plugins.executors._pipes import Message, Pipes, WorkerFault, pipe
from trialbed_plugins.executors._processes import ProcessCondition, trials_worth_a_start

START_LIMIT = 120.0
"""Seconds in which a framework must be imported."""

BEGIN_LIMIT = 10.0
"""Seconds in which an idle worker must start a trial."""

POLL = 0.15
"""Seconds between checks of a worker's memory."""

STRAY_GRACE = 0.1
"""Seconds in which a process that outlives its trial may end by itself."""

DISMISSAL = 5.0
"""Seconds in which a supervisor must have ended its worker, or an idle worker itself."""

FIRST_TRACE = 2.0
"""Seconds in which a worker past its deadline can begin to write where it hangs."""

LAST_TRACE = 0.2
"""Seconds in which it can write the rest."""

VERSION = 8
"""Characters of the digest of a program that are its version."""

TimeWaited = Callable[[str], Awaitable[float]]
"""A trial's token -> the seconds that count for no framework."""

REPORT = 1 << 16
"""The largest size of a sandbox's report, in bytes."""


@dataclass(frozen=True)
class Launch:
    """A worker's command that is ready to be started.

    Attributes:
        descriptors: open files that the process must inherit.
        report: the descriptor at which the mechanisms of the sandbox can be read; None without a sandbox.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    descriptors: tuple[int, ...] = ()
    report: int | None = None

    def held(self) -> tuple[str, ...]:
        """The mechanisms of the sandbox that hold, as found before anything of the worker was loaded.

        Empty without a sandbox, and if the sandbox is not complete: because it failed, or not yet.
        """
        if self.report is None:
            return ()
        try:
            return tuple(json.loads(os.read(self.report, REPORT)))
        except (BlockingIOError, ValueError):
            return ()


Preparing = Callable[[Sequence[str], Mapping[str, str], Path], contextlib.AbstractContextManager[Launch]]
"""A worker's command, environment and folder -> how to start it."""


class StartFailed(Exception):
    """The adapter cannot be used; holds the worker's message."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.message)
        self.failed = failed


class NotBegun(Exception):
    """A worker that ran other trials turned out to be unusable before it started this one; another can run it."""


class Worker:
    """A process that runs trials of one framework, one at a time.

    Attributes:
        info: the framework as the worker found it.
        mark: stands in the environment of the process and of all that it starts.
    """

    info: FrameworkInfo

    def __init__(self, framework: str, memory_limit: int, command: AgentCommand | None = None) -> None:
        self.framework = framework
        self._command = command
        self.mark = secrets.token_hex(12)
        self._memory_limit = memory_limit
        self._nonce = secrets.token_hex(16)
        self._pipes = Pipes(self._nonce)
        self._helpers: frozenset[int] = frozenset()
        self._family: Sequence[int] = ()
        self._trials = 0
        self._start_seconds = self._trial_seconds = 0.0
        self._spent = ""
        self._held = 0.0

    async def start(self, python: str | None, folder: Path, preparing: Preparing | None = None) -> Self:
        """Start the process and have it load the adapter.

        Args:
            python: the interpreter that has the adapter; None for this one.
            folder: its working directory.
            preparing: puts its command into a sandbox; None for no sandbox.

        Raises:
            StartFailed: the adapter cannot be used.
            WorkerFault: the process crashed, hung or broke the protocol while it loaded the adapter.
        """
        began = time.monotonic()
        command = worker_command(framework_driver(self.framework), python, self._program())
        environment = worker_environment(self.mark, own_packages=python is not None)
        with contextlib.ExitStack() as stack:
            launched = Launch(command, environment)
            if preparing is not None:
                launched = await asyncio.to_thread(stack.enter_context, preparing(command, environment, folder))
            await self._launch(launched, folder)
            info = await self._describe()
            held = launched.held()
        if launched.report is not None and not held:
            raise WorkerFault("protocol", "the worker answered without a report of its sandbox")
        self.info = info.model_copy(update={"sandbox": held})
        # Where there is a supervisor, the worker is its child.
        traced = processes.catching(self.pid, signal.SIGUSR1) if hasattr(signal, "SIGUSR1") else None
        self._process = traced or self.pid
        self._condition = ProcessCondition.read(self._process)
        self._family = processes.family(self.pid)
        self._helpers = frozenset(process.pid for process in processes.living(self._family[1:]))
        self._start_seconds = time.monotonic() - began
        return self

    def _program(self) -> CommandSpec | None:
        if self._command is None:
            return None
        return CommandSpec(arguments=self._command.arguments, version=self._command.digest()[:VERSION])

    async def _launch(self, launched: Launch, folder: Path) -> None:
        if shutil.which(launched.command[0]) is None:
            raise WorkerFault("adapter", f"{launched.command[0]} cannot be started: the program was not found")
        try:
            self._transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: self._pipes,
                *supervised_command(launched.command),
                env=launched.environment,
                cwd=folder,
                pass_fds=launched.descriptors,
                start_new_session=True,
            )
        except OSError as error:
            raise WorkerFault("adapter", f"{launched.command[0]} cannot be started: {error}") from error

    async def _describe(self) -> FrameworkInfo:
        self._send(Hello(nonce=self._nonce))
        reply = await self._reply(START_LIMIT, f"loading the adapter took more than {START_LIMIT:.0f} s")
        if isinstance(reply, Failed):
            raise StartFailed(reply)
        if not isinstance(reply, Ready):
            raise WorkerFault("protocol", f"the worker answered hello with {reply.type!r}")
        return reply.info

    @property
    def pid(self) -> int:
        """The id of the process that was started: the worker's supervisor where there is one."""
        return self._transport.get_pid()

    @property
    def fresh(self) -> bool:
        """Return whether it has not begun a trial yet."""
        return self._trials == 0

    @property
    def usable(self) -> bool:
        """Return whether the worker can take another trial: alive, silent, and not half way to its memory limit.

        Its processes are those that the last search found.
        """
        return self._pipes.usable and self._resident_bytes(self._family) < self._memory_limit / 2

    @property
    def is_at_fault(self) -> bool:
        """Return whether it said that an agent has spoilt it."""
        return bool(self._spent)

    def spent(self, most_trials: int | None) -> str:
        """Return the reason why the worker should take no other trial; empty if it can take one.

        Args:
            most_trials: number of trials that a worker runs; None for a hundred, or more if they are very short.
        """
        if self._spent:
            return self._spent
        if self._trials >= (most_trials or trials_worth_a_start(self._start_seconds, self._trial_seconds)):
            return f"it ran {number_of(self._trials, 'trial')}"
        return self._condition.worse(ProcessCondition.read(self._process))

    async def run(self, spec: TrialSpec, time_waited: TimeWaited) -> Outcome:
        """Run one trial.

        Args:
            time_waited: returns by how many seconds the deadline of the trial is later.

        Raises:
            NotBegun: the worker did not start it, because of an earlier trial.
            WorkerFault: it cost the worker.
        """
        await self._begin(spec)
        late = f"the trial took more than its {spec.limits.timeout:g} s"
        reply = await self._reply(spec.limits.timeout, late, partial(time_waited, spec.trial))
        if isinstance(reply, Done) and reply.trial == spec.trial:
            self._spent = reply.spent
            return self._with_wall_time(reply.outcome)
        raise WorkerFault("protocol", f"the worker ended the trial with {reply.type!r} for another trial")

    async def strays(self) -> int:
        """Kill the processes that a trial left behind; returns how many there were.

        Processes that the adapter started when it was loaded stay; those that are just ending are given a moment.
        """
        left = self._trial_processes()
        if left:
            await asyncio.sleep(STRAY_GRACE)
            left = self._trial_processes()
        processes.end(left)
        return len(left)

    def failed(self, fault: WorkerFault, started_at: datetime) -> Outcome:
        """The outcome of a trial that ended its worker, with the end of the worker's standard error."""
        failure = Failure(kind=fault.kind, message=redact(fault.message), detail=redact(self._pipes.tail()))
        return self._with_wall_time(Outcome(started_at=started_at, wall_time=0.0, failure=failure))

    def tail(self) -> str:
        """The end of standard error, redacted."""
        return redact(self._pipes.tail())

    async def dismiss(self) -> None:
        """Close the worker's input and wait for a moment: an idle worker ends by itself, any by its supervisor."""
        pipe(self._transport, 0).close()
        await self._exit()

    async def _exit(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DISMISSAL):
                await self._pipes.exited.wait()

    async def end(self) -> None:
        """Kill the process and its descendants, and wait until all are gone."""
        if not hasattr(self, "_transport"):
            return
        if SUPERVISED:
            self._pipes.hang_up()
            await self._exit()
        if not self._pipes.exited.is_set():
            await asyncio.to_thread(processes.end_family, self.pid)
        await self._pipes.exited.wait()
        try:
            await asyncio.to_thread(processes.end_marked, {self.mark})
        finally:
            self._transport.close()
        await self._pipes.disconnected.wait()

    def _with_wall_time(self, outcome: Outcome) -> Outcome:
        """The outcome with the wall time of this process's clock: the worker's can be changed by what runs in it."""
        seconds = self._pipes.stopwatch.seconds(self._held, outcome.wall_time)
        self._trial_seconds += seconds
        since = self._pipes.stopwatch.since_end
        ended = None if since is None else datetime.now(UTC) - timedelta(seconds=since)
        return outcome.model_copy(update={"wall_time": seconds, "ended_at": ended})

    async def _begin(self, spec: TrialSpec) -> None:
        self._pipes.forget()
        self._held = 0.0
        self._send(Begin(spec=spec))
        try:
            reply = await self._reply(BEGIN_LIMIT, f"the worker did not start the trial within {BEGIN_LIMIT:.0f} s")
            if not (isinstance(reply, Started) and reply.trial == spec.trial):
                raise WorkerFault("protocol", f"the worker answered a trial with {reply.type!r}")
        except WorkerFault as fault:
            if self.fresh:
                raise
            raise NotBegun(fault.message) from fault
        self._trials += 1

    async def _reply(
        self, seconds: float, late: str, time_waited: Callable[[], Awaitable[float]] | None = None
    ) -> Message:
        deadline = Deadline(seconds, POLL, time.monotonic)
        try:
            # What arrived in time counts, even if it is looked at too late.
            while deadline.left > 0 or await self._pipes.arrived():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(max(0.0, min(deadline.left, POLL))):
                        return await self._pipes.message()
                deadline.check()
                self._check_memory()
                if deadline.left <= 0 and time_waited is not None:
                    deadline.excuse(await time_waited())
        finally:
            deadline.check()
            self._held += deadline.held
        self._pipes.stopwatch.stop()
        await self._ask_where()
        raise WorkerFault("timeout", late)

    def _trial_processes(self) -> list[psutil.Process]:
        self._family = processes.family(self.pid)
        return processes.living(pid for pid in self._family[1:] if pid not in self._helpers)

    def _resident_bytes(self, family: Sequence[int]) -> int:
        # The first is the supervisor, where there is one.
        return processes.resident_bytes(family[1:] if SUPERVISED else family)

    def _check_memory(self) -> None:
        held = self._resident_bytes(processes.family(self.pid))
        if held > self._memory_limit:
            raise WorkerFault(
                "memory", f"the worker held {held >> 20} MiB, more than its limit of {self._memory_limit >> 20} MiB"
            )

    async def _ask_where(self) -> None:
        """Have the worker write the stacks of its threads to standard error."""
        if not hasattr(signal, "SIGUSR1") or self._pipes.exited.is_set():
            return
        if (process := processes.catching(self.pid, signal.SIGUSR1)) is not None:
            self._pipes.written.clear()
            with contextlib.suppress(ProcessLookupError, TimeoutError):
                os.kill(process, signal.SIGUSR1)
                await asyncio.wait_for(self._pipes.written.wait(), FIRST_TRACE)
                await asyncio.sleep(LAST_TRACE)

    def _send(self, message: Record) -> None:
        pipe(self._transport, 0).write(message_line(message))
