"""Clocks that move when somebody sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any


class SleepingClock:
    """The server's clock for tests: a sleep takes no time, but moves it.

    Attributes:
        slept: the seconds of each sleep.
        awake: while it is not set, sleeps do not end.
    """

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []
        self.awake = asyncio.Event()
        self.awake.set()

    def monotonic(self) -> float:
        """Seconds."""
        return self.time

    def utcnow(self) -> datetime:
        """A date."""
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.time)

    async def sleep(self, seconds: float) -> None:
        """Move the clock."""
        self.slept.append(seconds)
        await self.awake.wait()
        self.time += seconds
        await asyncio.sleep(0)


class SteppingClock:
    """A clock that moves by a second each time that somebody pauses.

    Attributes:
        said: for those who say something as the time goes on.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.said: list[str] = []

    async def pause(self, _: float) -> None:
        """Move it."""
        self.now += 1.0
        await asyncio.sleep(0)

    async def moved(self, seconds: float) -> None:
        """Wait until it has moved on, as others pause."""
        end = self.now + seconds
        async with asyncio.timeout(60):
            while self.now < end:  # noqa: ASYNC110 - it moves as others sleep
                await asyncio.sleep(0)


@asynccontextmanager
async def going_on(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Let this work go on while the body runs, and end it."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
