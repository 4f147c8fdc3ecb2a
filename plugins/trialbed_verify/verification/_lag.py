"""How late this process itself is: what it adds to every time it measures."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Self

TICK = 0.01
KEPT = 1200
"""Seconds of which the worst lag is remembered; longer than an attempt may take by default."""


class LagMeter:
    """Notes how much later than asked the event loop wakes a task, second by second."""

    def __init__(self) -> None:
        self._worst: deque[tuple[int, float]] = deque(maxlen=KEPT)

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
        """The worst lag in seconds from a moment on the loop's clock until now."""
        first = int(moment)
        worst = 0.0
        for second, lag in reversed(self._worst):
            if second < first:
                break
            worst = max(worst, lag)
        return worst

    async def _watch(self) -> None:
        while True:
            due = self._clock() + TICK
            await asyncio.sleep(TICK)
            self._note(self._clock() - due)

    def _note(self, lag: float) -> None:
        second = int(self._clock())
        if self._worst and self._worst[-1][0] == second:
            self._worst[-1] = (second, max(self._worst[-1][1], lag))
        else:
            self._worst.append((second, lag))
