"""The state and the resources of this process, to see what trials change and leave behind."""

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
"""Seconds in which tasks and connections have to end by themselves."""

STEP = 0.01


async def wait_until(condition: Callable[[], bool], seconds: float = SETTLING) -> bool:
    """Wait until the condition holds, at most this long; returns whether it does."""
    until = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < until:  # noqa: ASYNC110 - sockets and garbage collection cannot be awaited
        await asyncio.sleep(STEP)
    return holds


async def new_tasks(before: Iterable[asyncio.Task[Any]]) -> list[str]:
    """Return the tasks of this loop that are new and do not end by themselves, as text."""
    known = {*before, asyncio.current_task()}
    await wait_until(lambda: not asyncio.all_tasks() - known)
    return sorted(_task(task) for task in asyncio.all_tasks() - known)


@dataclass(frozen=True)
class ProcessResources:
    """Counts of Python threads, open files and sockets, tasks of the loop, and child processes."""

    threads: int
    files: int
    tasks: int
    children: int

    @classmethod
    def now(cls) -> ProcessResources:
        """Count them now, after a garbage collection."""
        gc.collect()
        return cls(threading.active_count(), _open_files(), len(asyncio.all_tasks()), len(psutil.Process().children()))

    def grown(self, before: ProcessResources, tolerance: int) -> list[str]:
        """Return the resources of which there are more than before, beyond a tolerance, as text."""
        counts = (
            ("threads", self.threads - before.threads),
            ("open files and sockets", self.files - before.files),
            ("tasks", self.tasks - before.tasks),
            ("child processes", self.children - before.children),
        )
        return [f"{more} more {what}" for what, more in counts if more > tolerance]


def process_state() -> dict[str, Any]:
    """Return the settings that other trials rely on: variables, working directory, signal handlers, socket timeout."""
    return {
        "variables": {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        "working directory": os.getcwd(),
        # Not SIGINT: a running event loop installs its own handler for it.
        "signal handlers": {"SIGTERM": repr(signal.getsignal(signal.SIGTERM))},
        "default socket timeout": socket.getdefaulttimeout(),
    }


def _open_files() -> int:
    """Open file descriptors, sockets included; 0 on systems that have none."""
    return int(psutil.Process().num_fds()) if psutil.POSIX else 0


def _task(task: asyncio.Task[Any]) -> str:
    coroutine = task.get_coro()
    return f"{task.get_name()}: {getattr(coroutine, '__qualname__', coroutine)}"
