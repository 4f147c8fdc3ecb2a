"""Pacing work that takes time: a piece at a time, with a look at the network between two."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

LOOKS = 2
"""Turns of the loop that the network has before and after a piece of work."""


class Pacer:
    """Keeps the event loop prompt when many answers come at once.

    Preparing a request or writing a row takes a fraction of a millisecond; two hundred of them in one turn of
    the loop would be a delay that times of arrival are off by.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold this for one piece of work that does not await anything."""
        async with self._lock:
            for _ in range(LOOKS):
                await asyncio.sleep(0)
            yield
            for _ in range(LOOKS):
                await asyncio.sleep(0)
