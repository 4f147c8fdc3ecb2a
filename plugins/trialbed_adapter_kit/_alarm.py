"""An alarm for an event loop that is blocked."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

BLOCKED = 60.0
"""Seconds without a turn of the loop after which it is taken for blocked; building a thousand tools takes some."""

REWIND = 1.0


class LoopBlocked(BaseException):
    """The event loop was blocked too long; raised in the code that blocks it, past its ``except Exception``."""


@contextmanager
def alarm(loop: asyncio.AbstractEventLoop, seconds: float = BLOCKED) -> Iterator[None]:
    """Raise ``LoopBlocked`` where the loop, which runs in this thread, makes no turn for so long.

    Only where it can be done: in the main thread, on systems with interval timers, and if nobody else
    (a timeout plugin of pytest) uses the signal.
    """
    if not _possible():
        yield
        return

    clock = _Clock(loop, seconds)
    signal.signal(signal.SIGALRM, _ring)
    clock.rewind()
    try:
        yield
    finally:
        clock.stop()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


class _Clock:
    """Rings unless the loop rewinds it in time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds

    def rewind(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self._seconds)
        self._next = self._loop.call_later(REWIND, self.rewind)

    def stop(self) -> None:
        self._next.cancel()
        signal.setitimer(signal.ITIMER_REAL, 0)


def _ring(*_: object) -> None:
    raise LoopBlocked


def _possible() -> bool:
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
    )
