"""One worker process, from its start to its end, and the clock of its trials."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Self

import psutil

from trialbed.agent_programs import AgentCommand
from trialbed.records import Failure, FailureKind, FrameworkInfo, Outcome, Record, TrialSpec, framework_driver
from trialbed.texts import number_of
from trialbed.wire.redaction import redact
from trialbed.worker import (
    SUPERVISED,
    Begin,
    ClockSwitch,
    CommandSpec,
    Done,
    Failed,
    Fork,
    Hello,
    Ready,
    Started,
    message_line,
    read_reply,
    supervised_command,
    worker_command,
    worker_environment,
)
from trialbed_plugins.executors import _processes as processes
from trialbed_plugins.executors._processes import ProcessCondition

START_LIMIT = 120.0
"""Seconds in which a framework must be imported."""

BEGIN_LIMIT = 10.0
"""Seconds in which an idle worker must start a trial."""

FORK_LIMIT = 30.0
"""Seconds in which a template must have forked a worker."""

POLL = 0.15
"""Seconds between checks of a worker's memory."""

STRAY_GRACE = 0.1
"""Seconds in which a process that outlives its trial may end by itself."""

DISMISSAL = 5.0
"""Seconds in which a supervisor must have ended its worker, or an idle worker itself."""

LAST_TRACE = 0.3
"""Seconds in which a worker past its deadline can write where it hangs."""

TRIALS = 500
"""Trials after which a worker is replaced, also if nothing in its condition shows why."""

VERSION = 8
"""Characters of the digest of a program that are its version."""

TEMPLATE = 2
"""Processes of a template: its supervisor and itself."""

REPORT = 64
"""Bytes of a template's report, of a process and its status."""

MAX_LINE = 32 * 1024 * 1024
"""Bytes of one message; longer ones are a fault."""

TAIL = 64 * 1024
"""Bytes of standard error that are kept."""

LAST_OUTPUT = 0.5
"""Seconds in which output may still arrive after the process has ended; a stray child may keep the pipes open."""

LAST_STATUS = 2.0
"""Seconds in which a process that has closed its output may end, and its end be reported."""

READS = 8
"""Turns of the event loop in which the pipes are read."""

HELD_UP = 1.0
"""Seconds between two checks, more than asked for, after which this process is taken to have been held up."""

Message = Ready | Failed | Started | Done


class WorkerFault(Exception):
    """A worker failed; it must be ended and not used again."""

    def __init__(self, kind: FailureKind, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.detail = detail


class Pipes(asyncio.SubprocessProtocol):
    """Reads a worker's replies and drains what else it writes.

    Attributes:
        stopwatch: times the trial, by when its ``clock`` messages arrive.
        exited: set when the process has ended and been waited for.
        disconnected: set when all its pipes are closed too.
    """

    def __init__(self, nonce: str) -> None:
        self._nonce = nonce
        self._line = bytearray()
        self._searched = 0
        self._tail = bytearray()
        self._arrived: asyncio.Queue[Message | WorkerFault] = asyncio.Queue()
        self._closed: set[int] = set()
        self._faulty = False
        self.stopwatch = Stopwatch(time.monotonic)
        self.exited = asyncio.Event()
        self.disconnected = asyncio.Event()

    async def message(self) -> Message:
        """The next reply.

        Raises:
            WorkerFault: the process ended, or wrote something that is not a reply.
        """
        item = await self._arrived.get()
        if isinstance(item, WorkerFault):
            raise item
        return item

    async def arrived(self) -> bool:
        """Read the pipes now; returns whether there is a reply, so that ``message`` does not wait."""
        for _ in range(READS):
            if self._arrived.qsize():
                return True
            await asyncio.sleep(0)
        return False

    def hang_up(self) -> None:
        """Close the process's input at once, without waiting for it to read the rest."""
        transport = self._transport.get_pipe_transport(0)
        # A pipe that broke is closing already.
        if transport is not None and not transport.is_closing():
            transport.abort()

    def forget(self) -> None:
        """Drop the standard error kept so far, and the time."""
        self._tail.clear()
        self.stopwatch = Stopwatch(time.monotonic)

    def tail(self) -> str:
        """The end of standard error, as text."""
        return bytes(self._tail).decode(errors="replace").strip()

    @property
    def usable(self) -> bool:
        """Return whether there was no fault, and no reply without a command."""
        return not (self._faulty or self.exited.is_set() or self._arrived.qsize())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, for the return code."""
        self._transport: Any = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Read replies from 1, keep the tail of 2."""
        if fd == 2:
            self._tail += data
            del self._tail[:-TAIL]
        elif not self._faulty:
            self._line += data
            self._read_lines()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Once both outputs are closed, everything has been read."""
        self._closed.add(fd)
        if self.exited.is_set() and {1, 2} <= self._closed:
            self._exit()
        elif fd == 1 and not self.exited.is_set():
            asyncio.get_running_loop().call_later(LAST_STATUS, self._exit)

    def process_exited(self) -> None:
        """The process has ended; its last output may still be in the pipes."""
        self.exited.set()
        if {1, 2} <= self._closed:
            self._exit()
        asyncio.get_running_loop().call_later(LAST_OUTPUT, self._exit)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """The process and its pipes are gone."""
        self.disconnected.set()

    def _exit(self) -> None:
        self._fail(crash(self._transport.get_returncode()))

    def _read_lines(self) -> None:
        while (end := self._line.find(b"\n", self._searched)) >= 0:
            line = bytes(self._line[:end])
            del self._line[: end + 1]
            self._searched = 0
            try:
                if len(line) > MAX_LINE:
                    raise ValueError(f"more than {MAX_LINE >> 20} MiB")
                reply = read_reply(line, self._nonce)
            except ValueError as error:
                reason = str(error).splitlines()[0]
                text = f"the worker wrote {line[:200]!r}, which is not a message ({reason})"
                self._fail(WorkerFault("protocol", text))
                continue
            if not isinstance(reply, ClockSwitch):
                self._arrived.put_nowait(reply)
            elif reply.running:
                self.stopwatch.start()
            else:
                self.stopwatch.stop()
        self._searched = len(self._line)
        if self._searched > MAX_LINE:
            self._fail(WorkerFault("protocol", f"the worker wrote a message of more than {MAX_LINE >> 20} MiB"))

    def _fail(self, fault: WorkerFault) -> None:
        if not self._faulty:
            self._faulty = True
            self._line = bytearray()
            self._searched = 0
            self._arrived.put_nowait(fault)


class ForkedProcess(asyncio.SubprocessTransport):
    """A process that a template has forked, by its pipes: its input, output and error output.

    Args:
        ends: this side's ends of the pipes.

    Attributes:
        protocol: is told what happens to it.
        pid: the id of its supervisor; 0 as long as it is not known.
        is_lost: whether it ended because the template did.
    """

    is_lost = False

    def __init__(self, protocol: Pipes, ends: Sequence[int]) -> None:
        super().__init__()
        self.protocol = protocol
        self._files = [open(end, "rb" if place else "wb", buffering=0) for place, end in enumerate(ends)]  # noqa: SIM115
        self._pipes: dict[int, Any] = {}
        self._open = len(ends) + 1
        self._code: int | None = None
        self.pid = 0

    async def connect(self) -> None:
        """Connect its pipes with the event loop."""
        self.protocol.connection_made(self)
        loop, (given, *read) = asyncio.get_running_loop(), self._files
        self._pipes[0], _ = await loop.connect_write_pipe(lambda: _PipeEnd(self, 0), given)
        for place, file in enumerate(read, 1):
            self._pipes[place], _ = await loop.connect_read_pipe(partial(_PipeEnd, self, place), file)

    def note_end(self, status: int) -> None:
        """It has ended with this status, and so have all its processes; or it is not waited for any more."""
        if self._code is not None:
            return
        self._code = os.waitstatus_to_exitcode(status)
        self.protocol.process_exited()
        self.note_part()

    def note_part(self) -> None:
        """It has ended, or one of its pipes is closed."""
        self._open -= 1
        if not self._open:
            self.protocol.connection_lost(None)

    def get_pid(self) -> int:
        return self.pid

    def get_returncode(self) -> int | None:
        return self._code

    def get_pipe_transport(self, fd: int) -> Any:
        return self._pipes.get(fd)

    def close(self) -> None:
        for pipe in self._pipes.values():
            pipe.close()


class _PipeEnd(asyncio.Protocol):
    def __init__(self, process: ForkedProcess, place: int) -> None:
        self._process = process
        self._place = place

    def data_received(self, data: bytes) -> None:
        self._process.protocol.pipe_data_received(self._place, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._process.protocol.pipe_connection_lost(self._place, exc)
        self._process.note_part()


def _pipe_ends(stack: contextlib.ExitStack) -> tuple[list[int], list[int]]:
    """Make a forked process's pipes; returns the ends of this side, and those of the other, which the stack closes.

    Raises:
        OSError: there are no descriptors left.
    """
    ours, theirs = list[int](), list[int]()
    with contextlib.ExitStack() as failed:
        for place in range(3):
            pipe = os.pipe()
            own, other = pipe if place else reversed(pipe)
            failed.callback(os.close, own)
            stack.callback(os.close, other)
            ours.append(own)
            theirs.append(other)
        failed.pop_all()
    return ours, theirs


class Forks:
    """Asks a template for workers, and learns how they end.

    Args:
        requests: this side's end of the socket.
    """

    def __init__(self, requests: socket.socket) -> None:
        requests.setblocking(False)
        self._requests = requests
        self._asked: deque[ForkedProcess] = deque()
        self._running: dict[int, ForkedProcess] = {}
        self._ended: dict[int, int] = {}
        asyncio.get_running_loop().add_reader(requests, self._read)

    def ask(self, fork: Fork, ends: Sequence[int], process: ForkedProcess) -> None:
        """Ask for a worker with these ends of its pipes.

        Raises:
            OSError: the template has ended, or takes no requests.
        """
        socket.send_fds(self._requests, [message_line(fork)], ends)
        self._asked.append(process)

    def close(self) -> None:
        """Ask no more: the template ends with all its workers."""
        if self._requests.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._requests)
            self._requests.close()
            for process in (*self._asked, *self._running.values()):
                process.is_lost = True
                process.note_end(signal.SIGKILL)

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            try:
                pid, *status = map(int, self._requests.recv(REPORT).split())
            except (ConnectionError, ValueError):
                self.close()
                return
            if pid < 0:
                self._asked.popleft().note_end(signal.SIGKILL)
            elif not status:
                self._running[pid] = process = self._asked.popleft()
                process.pid = pid
            else:
                self._ended[pid] = status[0]
            # Its end may be known before its beginning.
            if pid in self._running and pid in self._ended:
                self._running.pop(pid).note_end(self._ended.pop(pid))


def crash(code: int | None) -> WorkerFault:
    """The fault of a process that ended with this return code by itself (negative: the signal's number)."""
    if code is None:
        return WorkerFault("crash", "the worker closed its output but kept running")
    if code >= 0:
        return WorkerFault("crash", f"the worker ended by itself with exit code {code}")
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = "; the system may have run out of memory" if name == "SIGKILL" else ""
    return WorkerFault("crash", f"the worker was killed by {name}{hint}")


class Deadline:
    """A number of seconds, not counting time in which this process did not run.

    A process that is stopped, or that gets no processor, cannot see a worker's work meanwhile, so that time is
    not the worker's. It shows as a gap between checks that is longer than they ask for.

    Args:
        seconds: how many.
        interval: seconds between two calls of ``check``.
        now: the clock, in seconds.

    Attributes:
        held: seconds in which this process did not run.
    """

    def __init__(self, seconds: float, interval: float, now: Callable[[], float]) -> None:
        self._now = now
        self._interval = interval
        self._checked = now()
        self._end = self._checked + seconds
        self._excused = 0.0
        self.held = 0.0

    @property
    def left(self) -> float:
        """Seconds until the deadline; 0 or less once it has passed."""
        return self._end - self._now()

    def check(self) -> None:
        """Move the deadline if this process was held up since the last check."""
        now = self._now()
        excess = now - self._checked - self._interval
        self._checked = now
        if excess > HELD_UP:
            self.held += excess
            self.extend(excess)

    def excuse(self, total: float) -> None:
        """Move the deadline so that this many seconds since the beginning do not count."""
        self.extend(max(0.0, total - self._excused))
        self._excused = max(total, self._excused)

    def extend(self, seconds: float) -> None:
        """Move the deadline by this many seconds."""
        self._end += seconds


class Stopwatch:
    """The wall time of one trial, from the arrival of the worker's messages.

    Args:
        now: the clock, in seconds.

    Attributes:
        ended: when the work ended, on that clock; None while it goes on.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._told = now()
        self._began: float | None = None
        self.ended: float | None = None

    def start(self) -> None:
        """The agent's work begins; later calls change nothing."""
        if self._began is None:
            self._began = self._now()

    def stop(self) -> None:
        """The agent's work has ended; later calls change nothing."""
        if self._began is not None and self.ended is None:
            self.ended = self._now()

    def seconds(self, held: float = 0.0, claimed: float = 0.0) -> float:
        """The seconds between start and stop, or until now; 0 if the work never began.

        A message that is read late makes the time that was measured too short if it is the first, and too long if it is
        the last. The worker's own figure counts as far as this explains it.

        Args:
            held: seconds in which this process did not run. The last message may have arrived in them.
            claimed: the worker's own figure. It may be longer than the measured time, since the work can have begun as
                soon as the worker was asked; shorter only by ``held``.
        """
        if self._began is None:
            return 0.0
        ended = self._now() if self.ended is None else self.ended
        return max(ended - self._began - held, min(claimed, ended - self._told), 0.0)


TimeWaited = Callable[[str], Awaitable[float]]
"""A trial's token -> the seconds that count for no framework."""

SANDBOX_REPORT = 1 << 16
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
            return tuple(json.loads(os.read(self.report, SANDBOX_REPORT)))
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
        forks: has workers forked, if it is a template, which runs no trials.
        family: its processes when they were last looked for, the supervisor first.
    """

    info: FrameworkInfo
    _transport: Any

    def __init__(self, framework: str, memory_limit: int, command: AgentCommand | None = None) -> None:
        self.framework = framework
        self._command = command
        self.mark = secrets.token_hex(12)
        self._memory_limit = memory_limit
        self._nonce = secrets.token_hex(16)
        self._pipes = Pipes(self._nonce)
        self._helpers: frozenset[int] = frozenset()
        self.family: Sequence[int] = ()
        self._trials = 0
        self._spent = ""
        self._held = 0.0
        self._template: Sequence[int] = ()
        self.forks: Forks | None = None

    async def start(self, python: str | None, folder: Path, preparing: Preparing | None = None) -> Self:
        """Start the process and have it load the adapter; it is a template if it can be forked.

        Args:
            python: the interpreter that has the adapter; None for this one.
            folder: its working directory.
            preparing: puts its command into a sandbox; None for no sandbox.

        Raises:
            StartFailed: the adapter cannot be used.
            WorkerFault: the process crashed, hung or broke the protocol while it loaded the adapter.
        """
        own = self._command
        program = CommandSpec(arguments=own.arguments, version=own.digest()[:VERSION]) if own else None
        command = worker_command(framework_driver(self.framework), python, program)
        environment = worker_environment(self.mark, own_packages=python is not None)
        with contextlib.ExitStack() as stack:
            launched, theirs = Launch(command, environment), None
            if preparing is not None:
                launched = await asyncio.to_thread(stack.enter_context, preparing(command, environment, folder))
            elif SUPERVISED:
                # Not in a sandbox, where a trial could change the process that later ones are forked from.
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                stack.enter_context(theirs)
                self.forks = Forks(ours)
            program_file = launched.command[0]
            if shutil.which(program_file) is None:
                raise WorkerFault("adapter", f"{program_file} cannot be started: the program was not found")
            try:
                self._transport, _ = await asyncio.get_running_loop().subprocess_exec(
                    lambda: self._pipes,
                    *supervised_command(launched.command),
                    env=launched.environment,
                    cwd=folder,
                    pass_fds=launched.descriptors if theirs is None else (theirs.fileno(),),
                    start_new_session=True,
                )
            except OSError as error:
                raise WorkerFault("adapter", f"{program_file} cannot be started: {error}") from error
            self._send(Hello(nonce=self._nonce, forks=theirs and theirs.fileno()))
            reply = self._ready(
                await self._reply(START_LIMIT, f"loading the adapter took more than {START_LIMIT:.0f} s")
            )
            held = launched.held()
        if launched.report is not None and not held:
            raise WorkerFault("protocol", "the worker answered without a report of its sandbox")
        if self.forks is not None and not reply.forks:
            self.forks.close()
            self.forks = None
        self._note_start(reply.info.model_copy(update={"sandbox": held}))
        return self

    async def start_from(self, template: Worker, forks: Forks, folder: Path) -> Self:
        """Have a template fork the process.

        Raises:
            WorkerFault: the template has ended, or does not answer.
        """
        with contextlib.ExitStack() as stack:
            try:
                ours, theirs = _pipe_ends(stack)
            except OSError as error:
                raise WorkerFault("server", f"the pipes of a worker cannot be made: {error}") from error
            self._transport = process = ForkedProcess(self._pipes, ours)
            self._template = template.family[:TEMPLATE]
            # Connected in any case, so that its end is seen even if this task is cancelled.
            await asyncio.shield(asyncio.ensure_future(process.connect()))
            fork = Fork(nonce=self._nonce, mark=self.mark, folder=str(folder))
            try:
                forks.ask(fork, theirs, process)
            except OSError as error:
                process.note_end(0)
                raise WorkerFault("crash", f"the process that loaded the adapter has ended: {error}") from error
        try:
            self._ready(await self._reply(FORK_LIMIT, f"that took more than {FORK_LIMIT:.0f} s"))
        except WorkerFault as fault:
            # The adapter has been loaded, and no agent has worked here yet.
            raise WorkerFault("server", f"a worker could not be forked: {fault}") from fault
        self._note_start(template.info)
        return self

    def _ready(self, reply: Message) -> Ready:
        if isinstance(reply, Failed):
            raise StartFailed(reply)
        if not isinstance(reply, Ready):
            raise WorkerFault("protocol", f"the worker answered hello with {reply.type!r}")
        return reply

    def _note_start(self, info: FrameworkInfo) -> None:
        self.info = info
        self.family = processes.family(self.pid)
        # Above the process that runs the trials is its supervisor.
        self._process = self.family[1] if SUPERVISED and len(self.family) > 1 else self.pid
        self._helpers = frozenset(process.pid for process in processes.living(self.family[1:]))
        self._condition = ProcessCondition.read(self._process)

    @property
    def pid(self) -> int:
        """The id of the process that was started: the supervisor where there is one; 0 before it is known."""
        return int(self._transport.get_pid())

    @property
    def alive(self) -> bool:
        """Return whether its process runs."""
        return not self._pipes.exited.is_set()

    @property
    def fresh(self) -> bool:
        """Return whether it has not begun a trial yet."""
        return self._trials == 0

    @property
    def usable(self) -> bool:
        """Return whether the worker can take another trial: alive, silent, and not half way to its memory limit.

        Its processes are those that the last search found.
        """
        return self._pipes.usable and processes.resident_bytes(self.family[SUPERVISED:]) < self._memory_limit / 2

    @property
    def is_at_fault(self) -> bool:
        """Return whether it said that an agent has spoilt it."""
        return bool(self._spent)

    def spent(self) -> str:
        """Return the reason why the worker should take no other trial; empty if it can take one."""
        if self._spent:
            return self._spent
        if self._trials >= TRIALS:
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
        left: list[psutil.Process] = []
        for grace in (STRAY_GRACE, 0.0):
            self.family = processes.family(self.pid)
            left = processes.living(pid for pid in self.family[1:] if pid not in self._helpers)
            if not left:
                break
            await asyncio.sleep(grace)
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
        self._transport.get_pipe_transport(0).close()
        await self.has_ended()

    @property
    def is_lost(self) -> bool:
        """Return whether it was ended with the template that it was forked from."""
        return isinstance(self._transport, ForkedProcess) and self._transport.is_lost

    async def has_ended(self) -> bool:
        """Wait for a moment until it ends; returns whether it has."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DISMISSAL):
                await self._pipes.exited.wait()
        return self._pipes.exited.is_set()

    async def end(self) -> None:
        """Kill the process and its descendants, and wait until all are gone."""
        if self.forks is not None:
            self.forks.close()
        if not hasattr(self, "_transport"):
            return
        if SUPERVISED:
            self._pipes.hang_up()
            await self.has_ended()
        if self.pid and not self._pipes.exited.is_set():
            await asyncio.to_thread(processes.end_family, self.pid)
        if isinstance(self._transport, ForkedProcess):
            # A template that is stopped reports nothing. Should it fork this one after all, its input is closed.
            self._transport.note_end(signal.SIGKILL)
        await self._pipes.exited.wait()
        try:
            # A supervisor that was not killed has seen all processes end.
            if not isinstance(self._transport, ForkedProcess) or self._transport.get_returncode() == -signal.SIGKILL:
                await asyncio.to_thread(processes.end_marked, self.mark)
                await asyncio.to_thread(processes.end_orphans, self._template)
        finally:
            self._transport.close()
        await self._pipes.disconnected.wait()

    def _with_wall_time(self, outcome: Outcome) -> Outcome:
        """The outcome with the wall time of this process's clock: the worker's can be changed by what runs in it."""
        seconds = self._pipes.stopwatch.seconds(self._held, outcome.wall_time)
        ended = self._pipes.stopwatch.ended
        at = None if ended is None else datetime.now(UTC) - timedelta(seconds=time.monotonic() - ended)
        return outcome.model_copy(update={"wall_time": seconds, "ended_at": at})

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
                held = processes.resident_bytes(processes.family(self.pid)[SUPERVISED:])  # the first is the supervisor
                if held > self._memory_limit:
                    limit = f"its limit of {self._memory_limit >> 20} MiB (TRIALBED_MEMORY_LIMIT)"
                    raise WorkerFault("memory", f"the worker held {held >> 20} MiB, more than {limit}")
                if deadline.left <= 0 and time_waited is not None:
                    deadline.excuse(await time_waited())
        finally:
            deadline.check()
            self._held += deadline.held
        self._pipes.stopwatch.stop()
        if hasattr(signal, "SIGUSR1") and self._trials:
            with contextlib.suppress(OSError):
                os.kill(self._process, signal.SIGUSR1)
            await asyncio.sleep(LAST_TRACE)
        raise WorkerFault("timeout", late)

    def _send(self, message: Record) -> None:
        self._transport.get_pipe_transport(0).write(message_line(message))
