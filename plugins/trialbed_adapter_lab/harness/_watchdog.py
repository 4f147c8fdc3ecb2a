"""A watchdog for an event loop that is blocked."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
    if not _possible():
        yield
        return

    timer = _Timer(loop, seconds)
    signal.signal(signal.SIGALRM, _fire)
    timer.restart()
    try:
        yield
    finally:
        timer.stop()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


class _Timer:
    """Fires unless the loop restarts it in time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds

    def restart(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self._seconds)
        self._next = self._loop.call_later(RESTART, self.restart)

    def stop(self) -> None:
        self._next.cancel()
        signal.setitimer(signal.ITIMER_REAL, 0)


def _fire(*_: object) -> None:
    raise LoopBlocked


def _possible() -> bool:
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
    )
