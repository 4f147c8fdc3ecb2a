"""The parent of a worker, which outlives it and ends everything that it started, even if the engine is killed.

Linux gives the descendants of a *subreaper* back to it when their own parent ends, even if they have left the worker's
session and environment. The subreaper is a separate process, since the worker may end in any way, and is outside of the
worker's sandbox. This file runs alone, as a program without packages.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NoReturn

SUPERVISED = sys.platform == "linux"
"""True if workers have a supervisor. Otherwise, stray processes are only found by the mark in their environment."""

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
"""From ``<linux/prctl.h>``, Linux 3.4."""

IGNORED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
"""Signals that end a process unless it handles them; only its executor ends a supervisor, by closing its input."""

NOT_STARTED = 126
"""Exit code if the command cannot be run, as in a shell."""

MOST_INHERITED = 1024
"""The supervisor closes the worker's descriptors below this one; those for a sandbox are among the first."""

ROUNDS = 500
PAUSE = 0.01
"""Number of searches for processes to end, and seconds between them."""


def supervised_command(command: Sequence[str]) -> list[str]:
    """Return the command that runs a worker's command, under a supervisor if the platform has one."""
    return [sys.executable, "-I", "-S", __file__, *command] if SUPERVISED else [*command]


def supervise(command: Sequence[str]) -> NoReturn:
    """Run a command as the worker, with what this process has inherited, and supervise it."""
    fork_supervised()
    # What Python ignores would be ignored in the program too.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], list(command))  # noqa: S606 - an argument list, not a shell
    except OSError as error:
        os.write(2, f"{command[0]} cannot be started: {error}\n".encode())
        os._exit(NOT_STARTED)


def fork_supervised() -> None:
    """Fork the worker, and return only in it; this process supervises it, and ends in the same way."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    supervisor = os.getpid()
    worker = os.fork()
    if worker:
        Supervisor(worker).run()
    # Signals that an agent sends to its own group must not reach the supervisor.
    os.setsid()
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != supervisor:
        os._exit(1)


class Supervisor:
    """Waits until the worker has ended, or its executor has closed its input, and ends all processes that are left."""

    def __init__(self, worker: int) -> None:
        self._worker = worker
        self._status: int | None = None

    def run(self) -> NoReturn:
        """Supervise, then end in the same way as the worker."""
        self._leave_descriptors()
        wake = self._set_signals()
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        poll.register(0, 0)  # reports a hang-up even if nothing else is asked for
        self._reap()
        while self._status is None:
            if any(descriptor == 0 for descriptor, _ in poll.poll()):
                break
            os.read(wake, 4096)
            self._reap()
        self._end_all()
        end_as(self._status or 0)

    def _set_signals(self) -> int:
        """Ignore requests to end; returns a descriptor that becomes readable at any signal."""
        wake, woken = os.pipe()
        os.set_blocking(woken, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for name in IGNORED:
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        return wake

    def _leave_descriptors(self) -> None:
        """Close the worker's descriptors except its input; the executor then sees when the worker closes them."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for output in (1, 2):
            os.dup2(nowhere, output)
        os.close(nowhere)
        os.closerange(3, MOST_INHERITED)

    def _reap(self) -> bool:
        """Wait for ended children; returns whether any are left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._worker:
                self._status = status

    def _end_all(self) -> None:
        for _ in range(ROUNDS):
            # Stopped first, to keep them from starting others while they are killed one by one.
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in descendants(os.getpid()):
                    _send(pid, number)
            if not self._reap():
                return
            time.sleep(PAUSE)


def descendants(pid: int) -> list[int]:
    """Return the processes that descend from ``pid``, itself not included."""
    children: dict[int, list[int]] = {}
    for process, parent in _processes():
        children.setdefault(parent, []).append(process)
    found, todo = [], [pid]
    while todo:
        todo = [child for parent in todo for child in children.get(parent, ())]
        found += todo
    return found


def _processes() -> Iterator[tuple[int, int]]:
    """Yield every process with its parent."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:
                # The name before these fields may contain anything, even brackets.
                yield int(name), int(stat.read().rpartition(b")")[2].split()[1])


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def end_as(status: int) -> NoReturn:
    """End with this process status, for the executor to see how the worker ended."""
    if os.WIFSIGNALED(status):
        import resource  # not there on Windows, but this module is imported there too

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    supervise(sys.argv[1:])
