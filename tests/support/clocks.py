"""Clocks that move when somebody sleeps."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta


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
