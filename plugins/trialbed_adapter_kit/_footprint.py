"""What trials leave behind in the process."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import psutil

SETTLING = 2.0
"""Seconds that things have to come to their end by themselves."""

STEP = 0.01


async def settled(right: Callable[[], bool], seconds: float = SETTLING) -> bool:
    """Whether it is right within this time; the loop runs meanwhile."""
    until = time.monotonic() + seconds
    while not right() and time.monotonic() < until:  # noqa: ASYNC110 - sockets and garbage give no sign
        await asyncio.sleep(STEP)
    return right()


async def new_tasks(before: Iterable[asyncio.Task[Any]]) -> list[str]:
    """The tasks of this loop that were not there before and do not end by themselves, as text."""
    known = {*before, asyncio.current_task()}
    await settled(lambda: not asyncio.all_tasks() - known)
    return sorted(_task(task) for task in asyncio.all_tasks() - known)


@dataclass(frozen=True)
class Holdings:
    """What a process holds: Python's threads, open files and sockets, the loop's tasks, and child processes."""

    threads: int
    files: int
    tasks: int
    children: int

    @classmethod
    def now(cls) -> Holdings:
        """Count; garbage does not."""
        gc.collect()
        return cls(threading.active_count(), _open_files(), len(asyncio.all_tasks()), len(psutil.Process().children()))

    def grown(self, before: Holdings, tolerance: int) -> list[str]:
        """What there is more of than before, beyond a tolerance."""
        counts = (
            ("threads", self.threads - before.threads),
            ("open files and sockets", self.files - before.files),
            ("tasks", self.tasks - before.tasks),
            ("child processes", self.children - before.children),
        )
        return [f"{more} more {what}" for what, more in counts if more > tolerance]


def surroundings() -> dict[str, Any]:
    """What code outside a trial relies on: variables, working directory, signal handlers, socket timeout."""
    return {
        "variables": {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        "working directory": os.getcwd(),
        "signal handlers": {name: repr(signal.getsignal(number)) for name, number in _signals()},
        "default socket timeout": socket.getdefaulttimeout(),
    }


def _signals() -> list[tuple[str, int]]:
    # Not SIGINT: an event loop that runs has a handler of its own for it.
    return [("SIGTERM", signal.SIGTERM)]


def _open_files() -> int:
    """File descriptors, sockets among them; on systems without, nothing is counted."""
    return int(psutil.Process().num_fds()) if psutil.POSIX else 0


def _task(task: asyncio.Task[Any]) -> str:
    coroutine = task.get_coro()
    return f"{task.get_name()}: {getattr(coroutine, '__qualname__', coroutine)}"
