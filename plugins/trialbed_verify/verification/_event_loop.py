"""Keeps the event loop responsive, and measures how late it runs."""

from __future__ import annotations

import asyncio

YIELDS = 2
"""Times that a piece of work yields to the event loop before it runs: once to see what arrived, once to note when."""

INTERVAL = 0.01
"""Seconds between two measurements of the lag."""


async def take_turn(turns: asyncio.Lock) -> None:
    """Wait for one's turn to do a CPU-bound piece of work that awaits nothing, with time for network events before it.

    Preparing a request or writing a row takes a fraction of a millisecond. Two hundred of them in one iteration of the
    event loop would delay the time stamps of everything that arrives meanwhile.
    """
    async with turns:
        for _ in range(YIELDS):
            await asyncio.sleep(0)


class LagMeter:
    """Measures how much later than requested the event loop wakes a task, second by second."""

    def __init__(self) -> None:
        self._worst: dict[int, float] = {}
        self._clock = asyncio.get_running_loop().time

    async def watch(self) -> None:
        """Measure until cancelled."""
        while True:
            due = self._clock() + INTERVAL
            await asyncio.sleep(INTERVAL)
            second = int(self._clock())
            self._worst[second] = max(self._worst.get(second, 0.0), self._clock() - due)

    def since(self, moment: float) -> float:
        """The worst lag, in seconds, between a moment on the loop's clock and now."""
        return max((self._worst.get(second, 0.0) for second in range(int(moment), int(self._clock()) + 1)), default=0.0)
