"""The engine's end of a worker's standard streams, and the faults found there."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import suppress
from typing import Any, cast

from trialbed.records import FailureKind
from trialbed.worker import ClockSwitch, Done, Failed, Ready, Started, read_reply
from trialbed_plugins.executors._clock import Stopwatch

MAX_LINE = 32 * 1024 * 1024
"""Bytes of one message; longer ones are a fault."""

TAIL = 64 * 1024
"""Bytes of standard error that are kept."""

LAST_OUTPUT = 0.5
"""Seconds in which output may still arrive after the process has ended; a stray child may keep the pipes open."""

READS = 8
"""Turns of the event loop in which the pipes are read."""

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
        written: set when the process writes to standard error.
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
        self.written = asyncio.Event()
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
        if 0 not in self._closed:
            # A pipe that broke is gone one turn of the loop before this is called, and cannot be aborted then.
            with suppress(AttributeError):
                pipe(self._transport, 0).abort()

    def forget(self) -> None:
        """Drop the standard error kept so far, and the time."""
        self._tail.clear()
        self.stopwatch.reset()

    def tail(self) -> str:
        """The end of standard error, as text."""
        return bytes(self._tail).decode(errors="replace").strip()

    @property
    def usable(self) -> bool:
        """Return whether there was no fault, and no reply without a command."""
        return not (self._faulty or self.exited.is_set() or self._arrived.qsize())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, for the return code."""
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Read replies from 1, keep the tail of 2."""
        if fd == 2:
            self.written.set()
            self._tail += data
            del self._tail[:-TAIL]
        elif not self._faulty:
            self._line += data
            self._read_lines()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Once both outputs are closed, everything has been read."""
        self._closed.add(fd)
        if self.exited.is_set():
            self._gone_when_read()
        elif fd == 1:
            asyncio.get_running_loop().call_later(LAST_OUTPUT, self._exit)

    def process_exited(self) -> None:
        """The process has ended; its last output may still be in the pipes."""
        self.exited.set()
        self._gone_when_read()
        asyncio.get_running_loop().call_later(LAST_OUTPUT, self._exit)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """The process and its pipes are gone."""
        self.disconnected.set()

    def _gone_when_read(self) -> None:
        if {1, 2} <= self._closed:
            self._exit()

    def _exit(self) -> None:
        self._fail(crash(self._transport.get_returncode()))

    def _read_lines(self) -> None:
        while (end := self._line.find(b"\n", self._searched)) >= 0:
            line = bytes(self._line[:end])
            del self._line[: end + 1]
            self._searched = 0
            self._read(line)
        self._searched = len(self._line)
        if self._searched > MAX_LINE:
            self._fail(WorkerFault("protocol", f"the worker wrote a message of more than {MAX_LINE >> 20} MiB"))

    def _read(self, line: bytes) -> None:
        try:
            if len(line) > MAX_LINE:
                raise ValueError(f"more than {MAX_LINE >> 20} MiB")
            self._take(read_reply(line, self._nonce))
        except ValueError as error:
            reason = str(error).splitlines()[0]
            self._fail(WorkerFault("protocol", f"the worker wrote {line[:200]!r}, which is not a message ({reason})"))

    def _take(self, reply: Message | ClockSwitch) -> None:
        if not isinstance(reply, ClockSwitch):
            self._arrived.put_nowait(reply)
        elif reply.running:
            self.stopwatch.start()
        else:
            self.stopwatch.stop()

    def _fail(self, fault: WorkerFault) -> None:
        if not self._faulty:
            self._faulty = True
            self._line = bytearray()
            self._searched = 0
            self._arrived.put_nowait(fault)


def pipe(transport: asyncio.SubprocessTransport, fd: int) -> Any:
    """The transport of one of the process's standard streams."""
    return transport.get_pipe_transport(fd)


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
