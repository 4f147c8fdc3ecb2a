"""Keeps the event loop responsive, and measures how late it runs."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Self

YIELDS = 2
"""Times that a piece of work yields to the event loop before it runs: once to see what arrived, once to note when."""

INTERVAL = 0.01
"""Seconds between two measurements of the lag."""

HISTORY = 1200
"""Seconds for which the worst lag is remembered; longer than the default timeout of an attempt."""


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
        self._worst: deque[tuple[int, float]] = deque(maxlen=HISTORY)

    async def __aenter__(self) -> Self:
        self._clock = asyncio.get_running_loop().time
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    def since(self, moment: float) -> float:
        """The worst lag, in seconds, between a moment on the loop's clock and now."""
        first = int(moment)
        worst = 0.0
        for second, lag in reversed(self._worst):
            if second < first:
                break
            worst = max(worst, lag)
        return worst

    async def _watch(self) -> None:
        while True:
            due = self._clock() + INTERVAL
            await asyncio.sleep(INTERVAL)
            self._record(self._clock() - due)

    def _record(self, lag: float) -> None:
        second = int(self._clock())
        if self._worst and self._worst[-1][0] == second:
            self._worst[-1] = (second, max(self._worst[-1][1], lag))
        else:
            self._worst.append((second, lag))
