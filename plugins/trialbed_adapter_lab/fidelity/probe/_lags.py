"""The delays of an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class Lags:
    """The delays of ticks that are due at fixed intervals.

    A loop that is blocked for long misses many ticks. Each of them counts with its own delay, which an answer
    that arrived then would have had; if only the ticks that were served counted, a loop would look the better,
    the longer it is blocked.
    """

    def __init__(self, tick: float) -> None:
        self._tick = tick
        self._delays: list[float] = []

    def add(self, due: float, now: float) -> float:
        """Count every tick from ``due`` to ``now``; returns the next one."""
        while due <= now:
            self._delays.append(now - due)
            due += self._tick
        return due

    @property
    def count(self) -> int:
        """The number of ticks."""
        return len(self._delays)

    @property
    def longest(self) -> float:
        """The longest delay in seconds."""
        return max(self._delays, default=0.0)

    @property
    def p95(self) -> float:
        """The delay that 95 of 100 ticks do not exceed."""
        ordered = sorted(self._delays)
        return ordered[max(0, -(-len(ordered) * 95 // 100) - 1)] if ordered else 0.0


@asynccontextmanager
async def measured_lags(tick: float, on_tick: Callable[[], None]) -> AsyncIterator[Lags]:
    """Measure this event loop while the body runs; ``on_tick`` is called at every tick that is served."""
    lags = Lags(tick)
    task = asyncio.create_task(_tick(lags, tick, on_tick))
    await asyncio.sleep(0)
    try:
        yield lags
    finally:
        # One more turn of the loop, so that a block at the end is counted too.
        await asyncio.sleep(tick)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _tick(lags: Lags, tick: float, on_tick: Callable[[], None]) -> None:
    due = time.perf_counter() + tick
    while True:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        due = lags.add(due, time.perf_counter())
        on_tick()
