"""Keeps the event loop responsive, and measures how late it runs."""

from __future__ import annotations

import asyncio
from types import TracebackType

YIELDS = 2
"""Times that a piece of work yields to the event loop before it runs: once to see what arrived, once to note when."""

INTERVAL = 0.01
"""Seconds between two measurements of the lag."""


class Pacer:
    """Runs CPU-bound pieces of work one at a time, with time for network events between them.

    Preparing a request or writing a row takes a fraction of a millisecond. Two hundred of them in one iteration of the
    event loop would delay the time stamps of everything that arrives meanwhile.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> None:
        """Wait for one's turn; hold it during one piece of work that does not await anything."""
        await self._lock.acquire()
        try:
            for _ in range(YIELDS):
                await asyncio.sleep(0)
        except BaseException:
            self._lock.release()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


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
