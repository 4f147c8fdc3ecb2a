"""One worker process from start to end, and the clock of its trials."""

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
"""Seconds to import a framework."""

BEGIN_LIMIT = 10.0
"""Seconds for an idle worker to start a trial."""

FORK_LIMIT = 30.0
"""Seconds for a template to fork a worker."""

POLL = 0.15
"""Seconds between checks of a worker's memory."""

STRAY_GRACE = 0.1
"""Seconds for a process to exit after its trial before it is killed."""

DISMISSAL = 5.0
"""Seconds for a supervisor to end its worker, or for an idle worker to exit."""

LAST_TRACE = 0.3
"""Seconds for a worker past its deadline to write a traceback."""

TRIALS = 500
"""Trials until a worker is replaced, even in good condition."""

VERSION = 8
"""Characters of a program's digest that serve as its version."""

TEMPLATE = 2
"""Processes of a template: its supervisor and itself."""

REPORT = 64
"""Largest report of a template about a process and its status, in bytes."""

MAX_LINE = 32 * 1024 * 1024
"""Largest message, in bytes."""

TAIL = 64 * 1024
"""Bytes of standard error to keep."""

LAST_OUTPUT = 0.5
"""Seconds for output to arrive after the process has ended. A stray child may keep the pipes open."""

LAST_STATUS = 2.0
"""Seconds for a process to exit, and its exit to be reported, after it closed its output."""

READS = 8
"""Turns of the event loop to read the pipes."""

HELD_UP = 1.0
"""Seconds beyond the requested interval between two checks that mean this process was suspended."""

Message = Ready | Failed | Started | Done


class WorkerFault(Exception):
    """A worker failed. It must be ended and not used again."""

    def __init__(self, kind: FailureKind, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.detail = detail


class Pipes(asyncio.SubprocessProtocol):
    """Reads a worker's replies and drains its other output.

    Attributes:
        stopwatch: measures the trial by the arrival of its ``clock`` messages.
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
        """Return the next reply.

        Raises:
            WorkerFault: the process ended, or wrote something other than a reply.
        """
        item = await self._arrived.get()
        if isinstance(item, WorkerFault):
            raise item
        return item

    async def arrived(self) -> bool:
        """Read the pipes now. Returns whether ``message`` can return a reply without waiting."""
        for _ in range(READS):
            if self._arrived.qsize():
                return True
            await asyncio.sleep(0)
        return False

    def hang_up(self) -> None:
        """Close the process's input immediately, without flushing it."""
        transport = self._transport.get_pipe_transport(0)
        # A broken pipe is already closing.
        if transport is not None and not transport.is_closing():
            transport.abort()

    def forget(self) -> None:
        """Drop the standard error and the time so far."""
        self._tail.clear()
        self.stopwatch = Stopwatch(time.monotonic)

    def tail(self) -> str:
        return bytes(self._tail).decode(errors="replace").strip()

    @property
    def usable(self) -> bool:
        """Return whether there was no fault and no unsolicited reply."""
        return not (self._faulty or self.exited.is_set() or self._arrived.qsize())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Read replies from descriptor 1, and keep the tail of 2."""
        if fd == 2:
            self._tail += data
            del self._tail[:-TAIL]
        elif not self._faulty:
            self._line += data
            self._read_lines()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Note a closed pipe. If both outputs are closed, everything has been read."""
        self._closed.add(fd)
        if self.exited.is_set() and {1, 2} <= self._closed:
            self._exit()
        elif fd == 1 and not self.exited.is_set():
            asyncio.get_running_loop().call_later(LAST_STATUS, self._exit)

    def process_exited(self) -> None:
        """Note that the process has ended. Its last output may still be in the pipes."""
        self.exited.set()
        if {1, 2} <= self._closed:
            self._exit()
        asyncio.get_running_loop().call_later(LAST_OUTPUT, self._exit)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
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
    """A process forked by a template, connected by pipes for input, output and error output.

    Args:
        ends: this side's ends of the pipes.

    Attributes:
        protocol: receives its events.
        pid: the id of its supervisor; 0 until it is known.
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
        self.protocol.connection_made(self)
        loop, (given, *read) = asyncio.get_running_loop(), self._files
        self._pipes[0], _ = await loop.connect_write_pipe(lambda: _PipeEnd(self, 0), given)
        for place, file in enumerate(read, 1):
            self._pipes[place], _ = await loop.connect_read_pipe(partial(_PipeEnd, self, place), file)

    def note_end(self, status: int) -> None:
        """Record the end of the process and its descendants, or that nothing waits for it any more."""
        if self._code is not None:
            return
        self._code = os.waitstatus_to_exitcode(status)
        self.protocol.process_exited()
        self.note_part()

    def note_part(self) -> None:
        """Record the end of the process or of one of its pipes."""
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
    """Create a forked process's pipes. Returns this side's ends and the other ends, which the stack closes.

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
    """Asks a template for workers and receives their exit statuses.

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
        """Request a worker with these ends of its pipes.

        Raises:
            OSError: the template has ended, or accepts no requests.
        """
        socket.send_fds(self._requests, [message_line(fork)], ends)
        self._asked.append(process)

    def close(self) -> None:
        """Stop requesting workers. The template then ends with all its workers."""
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
            # The end of a process may be reported before its start.
            if pid in self._running and pid in self._ended:
                self._running.pop(pid).note_end(self._ended.pop(pid))


def crash(code: int | None) -> WorkerFault:
    """Return the fault of a process that ended with this return code (negative: the signal's number)."""
    if code is None:
        return WorkerFault("crash", "the worker closed its output but kept running")
    if code >= 0:
        return WorkerFault("crash", f"the worker ended on its own with exit code {code}")
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = "; the system may have run out of memory" if name == "SIGKILL" else ""
    return WorkerFault("crash", f"the worker was killed by {name}{hint}")


class Deadline:
    """A deadline in seconds that excludes the time in which this process did not run.

    A process that is stopped or gets no processor time cannot see a worker's progress, so this time is not the worker's
    fault. It shows as a gap between checks that is longer than their interval.

    Args:
        seconds: the time until the deadline.
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
        """Seconds until the deadline; 0 or less if it has passed."""
        return self._end - self._now()

    def check(self) -> None:
        """Extend the deadline if this process was suspended since the last check."""
        now = self._now()
        excess = now - self._checked - self._interval
        self._checked = now
        if excess > HELD_UP:
            self.held += excess
            self.extend(excess)

    def excuse(self, total: float) -> None:
        """Extend the deadline so this many seconds since the start do not count."""
        self.extend(max(0.0, total - self._excused))
        self._excused = max(total, self._excused)

    def extend(self, seconds: float) -> None:
        self._end += seconds


class Stopwatch:
    """The wall time of one trial, measured by the arrival of the worker's messages.

    Args:
        now: the clock, in seconds.

    Attributes:
        ended: the end of the work on that clock; None while it continues.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._told = now()
        self._began: float | None = None
        self.ended: float | None = None

    def start(self) -> None:
        """Record the start of the agent's work. Later calls change nothing."""
        if self._began is None:
            self._began = self._now()

    def stop(self) -> None:
        """Record the end of the agent's work. Later calls change nothing."""
        if self._began is not None and self.ended is None:
            self.ended = self._now()

    def seconds(self, held: float = 0.0, claimed: float = 0.0) -> float:
        """Return the seconds between start and stop, or until now; 0 if the work never began.

        Reading the first message late makes the measured time too short, and reading the last one late makes it too
        long. The worker's own figure counts within these limits.

        Args:
            held: seconds in which this process did not run. The last message may have arrived then.
            claimed: the worker's own figure. It may exceed the measured time, since the work can have begun right after
                the request. It may be shorter only by ``held``.
        """
        if self._began is None:
            return 0.0
        ended = self._now() if self.ended is None else self.ended
        return max(ended - self._began - held, min(claimed, ended - self._told), 0.0)


TimeWaited = Callable[[str], Awaitable[float]]
"""Returns the seconds of a trial, by its token, that do not count for any framework."""

SANDBOX_REPORT = 1 << 16
"""The largest size of a sandbox's report, in bytes."""


@dataclass(frozen=True)
class Launch:
    """A worker's command, ready to start.

    Attributes:
        descriptors: open files that the process must inherit.
        report: the descriptor to read the mechanisms of the sandbox from; None without a sandbox.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    descriptors: tuple[int, ...] = ()
    report: int | None = None

    def held(self) -> tuple[str, ...]:
        """The active mechanisms of the sandbox, as reported before the worker's code was loaded.

        Empty without a sandbox, and if the sandbox has failed or is not complete yet.
        """
        if self.report is None:
            return ()
        try:
            return tuple(json.loads(os.read(self.report, SANDBOX_REPORT)))
        except (BlockingIOError, ValueError):
            return ()


Preparing = Callable[[Sequence[str], Mapping[str, str], Path], contextlib.AbstractContextManager[Launch]]
"""Prepares to start a worker's command with an environment and a folder."""


class StartFailed(Exception):
    """The adapter cannot be used. Contains the worker's message."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.message)
        self.failed = failed


class NotBegun(Exception):
    """A worker that ran other trials was unusable before it started this one. Another worker can run it."""


class Worker:
    """A process that runs trials of one framework, one at a time.

    Attributes:
        info: the framework that the worker loaded.
        mark: is in the environment of the process and all its descendants.
        forks: forks workers if this is a template, which runs no trials.
        family: its processes at the last search, the supervisor first.
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
        """Start the process and load the adapter. If it can fork, it becomes a template.

        Args:
            python: the interpreter with the adapter; None for this one.
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
                # Sandboxes have no template: a trial could change the process that later ones are forked from.
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
            # Connected even if this task is cancelled, so the end of the process is noticed.
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
            # The adapter has been loaded, and no agent has worked in this process yet.
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
        # The process that runs the trials is a child of its supervisor.
        self._process = self.family[1] if SUPERVISED and len(self.family) > 1 else self.pid
        self._helpers = frozenset(process.pid for process in processes.living(self.family[1:]))
        self._condition = ProcessCondition.read(self._process)

    @property
    def pid(self) -> int:
        """The id of the started process, which is the supervisor if there is one; 0 until it is known."""
        return int(self._transport.get_pid())

    @property
    def alive(self) -> bool:
        return not self._pipes.exited.is_set()

    @property
    def fresh(self) -> bool:
        """Return whether it has not begun a trial yet."""
        return self._trials == 0

    @property
    def usable(self) -> bool:
        """Return whether the worker is alive, silent and below half its memory limit, so it can take another trial.

        This checks the processes of the last search.
        """
        return self._pipes.usable and processes.resident_bytes(self.family[SUPERVISED:]) < self._memory_limit / 2

    @property
    def is_at_fault(self) -> bool:
        """Return whether the worker reported that an agent made it unusable."""
        return bool(self._spent)

    def spent(self) -> str:
        """Explain why the worker should take no other trial; empty if it can take one."""
        if self._spent:
            return self._spent
        if self._trials >= TRIALS:
            return f"it ran {number_of(self._trials, 'trial')}"
        return self._condition.worse(ProcessCondition.read(self._process))

    async def run(self, spec: TrialSpec, time_waited: TimeWaited) -> Outcome:
        """Run one trial.

        Args:
            time_waited: returns the seconds to add to the trial's deadline.

        Raises:
            NotBegun: the worker did not start it, because of an earlier trial.
            WorkerFault: the trial made the worker unusable.
        """
        await self._begin(spec)
        late = f"the trial took more than its {spec.limits.timeout:g} s"
        reply = await self._reply(spec.limits.timeout, late, partial(time_waited, spec.trial))
        if isinstance(reply, Done) and reply.trial == spec.trial:
            self._spent = reply.spent
            return self._with_wall_time(reply.outcome)
        raise WorkerFault("protocol", f"the worker ended the trial with {reply.type!r} for another trial")

    async def strays(self) -> int:
        """Kill the processes that a trial left behind. Returns their number.

        Processes that the adapter started while loading stay. Others have a moment to exit first.
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
        """Return the outcome of a trial that ended its worker, with the end of the worker's standard error."""
        failure = Failure(kind=fault.kind, message=redact(fault.message), detail=redact(self._pipes.tail()))
        return self._with_wall_time(Outcome(started_at=started_at, wall_time=0.0, failure=failure))

    def tail(self) -> str:
        """Return the redacted end of standard error."""
        return redact(self._pipes.tail())

    async def dismiss(self) -> None:
        """Close the worker's input and wait briefly. An idle worker exits; the supervisor ends any other."""
        self._transport.get_pipe_transport(0).close()
        await self.has_ended()

    @property
    def is_lost(self) -> bool:
        """Return whether it ended with the template that it was forked from."""
        return isinstance(self._transport, ForkedProcess) and self._transport.is_lost

    async def has_ended(self) -> bool:
        """Wait briefly for its end. Returns whether it has ended."""
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
            # A stopped template reports nothing. If it still forks this process later, the input is closed.
            self._transport.note_end(signal.SIGKILL)
        await self._pipes.exited.wait()
        try:
            # A supervisor that was not killed has waited for all processes.
            if not isinstance(self._transport, ForkedProcess) or self._transport.get_returncode() == -signal.SIGKILL:
                await asyncio.to_thread(processes.end_marked, self.mark)
                await asyncio.to_thread(processes.end_orphans, self._template)
        finally:
            self._transport.close()
        await self._pipes.disconnected.wait()

    def _with_wall_time(self, outcome: Outcome) -> Outcome:
        """Return the outcome with the wall time by this process's clock. Agents could change the worker's clock."""
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
            # A reply that arrived in time counts, even if it is read too late.
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
