"""Mutual exclusion between processes, without blocking the other tasks of this one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from filelock import AsyncFileLock, Timeout

POLL = 0.1
"""Seconds between attempts."""


@asynccontextmanager
async def acquired(path: Path, on_wait: Callable[[], None]) -> AsyncIterator[None]:
    """Hold the lock of a file; the system frees it if this process dies.

    Args:
        on_wait: called once if another process or task holds it.
    """
    # Attempts do not block; in a thread one could succeed after the task is cancelled, and hold the lock for ever.
    lock = AsyncFileLock(path, poll_interval=POLL, run_in_executor=False)
    try:
        await lock.acquire(timeout=0)
    except Timeout:
        on_wait()
        await lock.acquire()
    try:
        yield
    finally:
        await lock.release()
