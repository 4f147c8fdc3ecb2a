"""The circuit breaker of an endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from math import inf
from time import monotonic
from typing import Any

FAILURES = 5


class CircuitOpen(Exception):
    """The endpoint is not asked for now."""


class Change:
    """Wakes tasks that wait for something to change.

    Args:
        sleep: waits for this many seconds.
    """

    def __init__(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._sleep = sleep
        self._changed = asyncio.Event()

    def notify(self) -> None:
        """Something has changed."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Wait until something has changed, but no longer than so many seconds."""
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._changed.wait())]
        if seconds < inf:
            waits.append(asyncio.ensure_future(self._sleep(seconds)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


class CircuitBreaker:
    """Keeps attempts from an endpoint that only fails (Nygard's circuit breaker).

    It is closed while the endpoint works, and opens after a number of failures in a row. While it is open, one attempt
    at a time is let through as a probe, after pauses that double. An attempt that succeeds closes it.

    Args:
        clock: seconds since any fixed moment.
        sleep: waits for so many of them.
        threshold: the failures in a row that open it.
        first: seconds before the first probe.
        longest: seconds before any probe at most.

    Attributes:
        is_open: whether only probes are let through.
        failures: in a row.
        failed_probes: in a row.
    """

    def __init__(
        self,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        *,
        threshold: int = FAILURES,
        first: float = 1.0,
        longest: float = inf,
    ) -> None:
        self.is_open = False
        self.failures = 0
        self.failed_probes = 0
        self._clock = clock
        self._threshold = threshold
        self._first, self._longest = first, longest
        self._probing = False
        self._next_probe = 0.0
        self._change = Change(sleep)

    @property
    def pause(self) -> float:
        """Seconds until the next probe may be made; 0 if one may be made now, or none is needed."""
        return max(0.0, self._next_probe - self._clock()) if self.is_open else 0.0

    @asynccontextmanager
    async def attempt(
        self, until: Callable[[], float] = lambda: -inf, on_wait: Callable[[], object] = lambda: None
    ) -> AsyncIterator[bool]:
        """Hold this during an attempt; waits until it may be made. Gives whether it is a probe.

        Args:
            until: returns the deadline of the wait, asked again after each wait; by default it does not wait.
            on_wait: called before it waits.

        Raises:
            CircuitOpen: it may not be made until then.
        """
        probe = await self._admit(until, on_wait)
        try:
            yield probe
        finally:
            if probe:
                self._end_probe()

    async def _admit(self, until: Callable[[], float], on_wait: Callable[[], object]) -> bool:
        while self.is_open:
            latest, now = until(), self._clock()
            if not self._probing and now >= self._next_probe:
                self._probing = True
                return True
            if now >= latest:
                raise CircuitOpen
            on_wait()
            await self._change.wait(min(latest, inf if self._probing else self._next_probe) - now)
        return False

    def begins_to_answer(self) -> None:
        """Let others try as well, since an answer has begun to come. One more failure opens the circuit again."""
        if self.is_open:
            self.is_open = False
            self.failures = self._threshold - 1
            self._change.notify()

    def succeeded(self) -> None:
        """The endpoint has answered."""
        if self.is_open:
            self._change.notify()
        self.is_open = False
        self.failures = self.failed_probes = 0

    def failed(self, *, asked: float = 0.0, opens: bool = True) -> None:
        """The endpoint has failed.

        Args:
            asked: the seconds that it asks to wait.
            opens: whether this failure may open the circuit.
        """
        self.failures += 1
        if opens and self.failures >= self._threshold:
            self.is_open = True
            self._schedule(asked)
            self._change.notify()

    def _end_probe(self) -> None:
        self._probing = False
        if self.is_open:
            self.failed_probes += 1
            self._schedule()
        self._change.notify()

    def _schedule(self, asked: float = 0.0) -> None:
        pause = min(self._longest, self._first * 2.0**self.failed_probes)
        self._next_probe = max(self._next_probe, self._clock() + max(asked, pause))
