"""Control and observe the adapter's process.

This covers its environment, the state that trials change, its network contacts, and a watchdog.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from types import TracebackType
from typing import Any, Self

import psutil

from trialbed.contracts import BaseAgent
from trialbed.wire.addresses import is_loopback
from trialbed.worker import WORKER_MARK, load_agent, worker_environment


def named_agent(agent: str | type[BaseAgent]) -> tuple[type[BaseAgent], dict[str, str]]:
    """Return the class of an adapter, and its names for a report.

    Args:
        agent: the name of its entry point, or the class itself.

    Raises:
        DriverError: the entry point does not exist, or cannot be loaded.
    """
    if isinstance(agent, str):
        loaded, info = load_agent(agent)
        return loaded, {"framework": info.name, "adapter": info.adapter, "adapter_version": info.adapter_version}
    return agent, {"framework": agent.__name__}


@contextmanager
def like_a_worker() -> Iterator[None]:
    """Temporarily give this process a worker's environment, without keys, telemetry or a proxy for loopback addresses.

    Enter it before a framework is imported: many read the environment only then.
    """
    wanted = worker_environment("conformance")
    del wanted[WORKER_MARK]
    found = dict(os.environ)
    _replace(found, wanted)
    try:
        yield
    finally:
        _replace(wanted, found)


def _replace(before: dict[str, str], after: dict[str, str]) -> None:
    for name in before.keys() - after.keys():
        os.environ.pop(name, None)
    for name, value in after.items():
        if before.get(name) != value:
            os.environ[name] = value


SETTLING = 2.0
"""Seconds for tasks and connections to end on their own."""

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


def count_resources() -> dict[str, int]:
    """Count Python threads, open files and sockets, tasks of the loop and child processes, without garbage."""
    gc.collect()
    process = psutil.Process()
    return {
        "threads": threading.active_count(),
        "open files and sockets": int(process.num_fds()) if psutil.POSIX else 0,
        "tasks": len(asyncio.all_tasks()),
        "child processes": len(process.children()),
    }


def process_state() -> dict[str, Any]:
    """Return the settings that other trials rely on, such as variables, working directory and signal handlers."""
    return {
        "variables": {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        "working directory": os.getcwd(),
        # Not SIGINT: a running event loop installs its own handler for it.
        "signal handlers": {"SIGTERM": repr(signal.getsignal(signal.SIGTERM))},
        "default socket timeout": socket.getdefaulttimeout(),
    }


def _task(task: asyncio.Task[Any]) -> str:
    coroutine = task.get_coro()
    return f"{task.get_name()}: {getattr(coroutine, '__qualname__', coroutine)}"


LOOK_UPS = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
MESSAGES = ("socket.connect", "socket.sendto", "socket.sendmsg")
OWN_NAMES = ("", "localhost", "localhost.localdomain", "ip6-localhost")


class NetworkWatch:
    """Notes every address that this process looks up or connects to, while it is entered.

    It observes Python's ``socket``. Code that opens sockets without it (``uvloop``, gRPC) is only seen if it looks
    names up through Python.
    """

    def __init__(self) -> None:
        self._seen: list[tuple[str, int | None]] = []

    def contacts(self, *known: tuple[str, int]) -> list[str]:
        """Return the contacted addresses, each once, except these and the machine's own names."""
        return [
            f"look-up of {host}" if port is None else f"connection to {host}:{port}"
            for host, port in dict.fromkeys([*self._seen])
            if not (host in OWN_NAMES or is_loopback(host) if port is None else (host, port) in known)
        ]

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record one audit event of ``socket``; events of local or already connected sockets have no address."""
        if event in LOOK_UPS:
            host = arguments[0].decode(errors="replace") if isinstance(arguments[0], bytes) else arguments[0]
            self._seen += [] if host is None else [(host, None)]
        elif len(arguments) > 1 and isinstance(arguments[1], tuple) and len(arguments[1]) >= 2:
            self._seen.append((str(arguments[1][0]), int(arguments[1][1])))

    def __enter__(self) -> Self:
        _hook()
        _entered.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _entered.discard(self)


_entered: set[NetworkWatch] = set()


@cache
def _hook() -> None:
    """Install the audit hook, which can never be removed."""

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if _entered and event in (*LOOK_UPS, *MESSAGES):
            for watch in tuple(_entered):
                watch.note(event, arguments)

    sys.addaudithook(note)


BLOCKED = 60.0
"""Seconds without a turn of the loop after which it counts as blocked; building a thousand tools takes a few."""

RESTART = 1.0
"""Seconds after which a loop that is free restarts the timer."""


class LoopBlocked(BaseException):
    """The event loop was blocked for too long. Raised in the code that blocks it, past its ``except Exception``."""


@contextmanager
def watchdog(loop: asyncio.AbstractEventLoop, seconds: float = BLOCKED) -> Iterator[None]:
    """Raise ``LoopBlocked`` when the loop, which runs in this thread, makes no turn for this long.

    Works in the main thread, on systems with interval timers, and if the signal is free (a timeout plugin of
    pytest may use it); elsewhere it does nothing.
    """
    if not (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
    ):
        yield
        return

    next_restart: asyncio.Handle = loop.call_soon(int)

    def restart() -> None:
        nonlocal next_restart
        signal.setitimer(signal.ITIMER_REAL, seconds)
        next_restart = loop.call_later(RESTART, restart)

    def fire(*_: object) -> None:
        raise LoopBlocked

    signal.signal(signal.SIGALRM, fire)
    restart()
    try:
        yield
    finally:
        next_restart.cancel()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
