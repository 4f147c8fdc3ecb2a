"""Bounds how many agents of a run work at once."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType


class NoNodeLeft(Exception):
    """A trial waited for a node, and the run waits for none any more: it has not begun."""


class Slots:
    """As many agents work as there are slots; how many there are may change while they do.

    Args:
        most: how many there are.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._working = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed: NoNodeLeft | None = None

    @property
    def most(self) -> int:
        """The number of slots."""
        return self._most

    @most.setter
    def most(self, most: int) -> None:
        self._most = most
        self._wake()

    def close(self, reason: str) -> None:
        """Let no further agent work: those that wait, and those that come, raise NoNodeLeft with the reason."""
        self._closed = NoNodeLeft(reason)
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(self._closed)

    async def __aenter__(self) -> None:
        if self._closed is not None:
            raise self._closed
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._wake()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._leave()  # it was let in at the same moment
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        self._working -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self._working < self._most:
            waiter = self._waiting.popleft()
            if not waiter.done():
                self._working += 1
                waiter.set_result(None)
