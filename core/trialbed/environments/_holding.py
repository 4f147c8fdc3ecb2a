"""Waiting for a lock between processes without blocking the others of this one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from filelock import FileLock, Timeout

POLL = 0.1
"""Seconds between attempts."""


@asynccontextmanager
async def held(lock: FileLock, on_wait: Callable[[], None]) -> AsyncIterator[None]:
    """Hold a lock.

    Args:
        on_wait: called once if somebody else has it.
    """
    told = False
    while True:
        try:
            lock.acquire(timeout=0)
            break
        except Timeout:
            if not told:
                told = True
                on_wait()
            await asyncio.sleep(POLL)
    try:
        yield
    finally:
        lock.release()
