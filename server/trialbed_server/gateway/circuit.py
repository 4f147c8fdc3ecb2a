"""The circuit breaker of an upstream endpoint, and the signs of life by which a silent request is judged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from trialbed.records import CircuitState
from trialbed_server._clock import Clock

FAILURES = 5
"""Attempts in a row that must fail before the circuit opens, ..."""

REQUESTS = 2
"""... and the number of different requests that must be among them: a single one may be to blame itself."""

FIRST_PROBE = 1.0
LONGEST_PROBE = 30.0

SLOWER = 2.0
"""How many times longer than its slowest answer an endpoint can be silent before that says something."""


class EndpointDown(Exception):
    """The endpoint is not asked: it has failed for too long, or this request cannot wait any longer."""


class Circuit:
    """Holds requests back while an endpoint only fails (Nygard's circuit breaker).

    It is closed while the endpoint works. It opens after a number of failures in a row. While it is open, requests
    wait, and one at a time is let through as a probe, after waits that double. If no probe is answered for as long as
    ``patience``, the endpoint is down: requests fail at once, except for a probe now and then.

    Args:
        clock: the server's.
        patience: seconds from the opening to ``down``; with 0 it never opens.

    Attributes:
        answered: how many requests were answered, from beginning to end.
        reason: the last failure, in words.
    """

    def __init__(self, clock: Clock, patience: float) -> None:
        self.answered = 0
        self.reason = ""
        self._clock = clock
        self._patience = patience
        self._failures = 0
        self._requests: set[bytes] = set()
        self._hopeless = True
        self._open = False
        self._opened: float | None = None
        self._probing = False
        self._failed_probes = 0
        self._next_probe = 0.0
        self._changed = asyncio.Event()

    @property
    def state(self) -> CircuitState:
        """Whether requests are sent (``closed``), wait (``open``) or fail (``down``)."""
        if not self._open:
            return "closed"
        return "down" if self._clock.monotonic() >= self._given_up else "open"

    @property
    def _given_up(self) -> float:
        patience = 0.0 if self._hopeless else self._patience
        return (self._opened or 0.0) + patience

    @asynccontextmanager
    async def attempt(self, patience: float, on_wait: Callable[[], None]) -> AsyncIterator[None]:
        """Hold this during an attempt; waits until it may be made.

        Args:
            patience: seconds that this request can wait.
            on_wait: called before it waits.

        Raises:
            EndpointDown: it may not be made.
        """
        probe = await self._admit(self._clock.monotonic() + patience, on_wait)
        try:
            yield
        finally:
            if probe:
                self._probing = False
                self._failed_probes += self._open
                self._notify()

    async def _admit(self, deadline: float, on_wait: Callable[[], None]) -> bool:
        while self._open:
            now = self._clock.monotonic()
            if not self._probing and now >= self._next_probe:
                self._probing = True
                return True
            if now >= min(self._given_up, deadline):
                raise EndpointDown(self.reason)
            on_wait()
            probe = float("inf") if self._probing else self._next_probe
            await self._wait(min(self._given_up, deadline, probe) - now)
        return False

    async def _wait(self, seconds: float) -> None:
        waits = [asyncio.ensure_future(self._clock.sleep(seconds)), asyncio.ensure_future(self._changed.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def begins_to_answer(self) -> None:
        """The first bytes of an answer have come: others may try, too. One failure more opens the circuit again."""
        if self._open:
            self._open = False
            self._failures = FAILURES - 1
            self._notify()

    def completed(self, *, answered: bool) -> None:
        """The endpoint works: it answered a request, or refused one for what was sent."""
        self.answered += answered
        self._failures = self._failed_probes = 0
        self._requests.clear()
        self._hopeless = True
        self._open, self._opened = False, None
        self._notify()

    def failed(self, request: bytes, reason: str, *, asked: float | None = None, useless: bool = False) -> None:
        """An attempt failed for a reason that concerns the endpoint.

        Args:
            request: tells requests apart.
            asked: the seconds that the endpoint asks to wait.
            useless: whether waiting does not help: the key is refused, or the address is wrong.
        """
        now = self._clock.monotonic()
        self.reason = reason
        self._failures += 1
        self._requests.add(request)
        self._hopeless = self._hopeless and useless
        if not self._patience or self._failures < FAILURES or len(self._requests) < REQUESTS:
            return
        if self._opened is None:
            self._opened = now
        self._open = True
        self._next_probe = now + max(asked or 0.0, min(LONGEST_PROBE, FIRST_PROBE * 2.0**self._failed_probes))
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class Liveness:
    """Tells a request that is just being answered from one at an endpoint that no longer answers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = float("-inf")
        self._slowest = 0.0

    def began(self, asked: float) -> None:
        """A request that was sent at this time begins to be answered now."""
        self._last = self._clock.monotonic()
        self._slowest = max(self._slowest, self._last - asked)

    def silent_since(self, asked: float) -> bool:
        """Whether the endpoint has answered no request since, for longer than it ever took to begin an answer."""
        return self._last <= asked and self._clock.monotonic() - asked > SLOWER * self._slowest
