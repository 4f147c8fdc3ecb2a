"""Retries and the circuit breaker of an endpoint."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import inf, isfinite
from time import monotonic
from typing import Any

TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, *range(520, 600)})
"""Statuses of HTTP after which the same request may be answered."""

NO_CREDIT = "insufficient_quota"
"""The code of a refusal with status 429 after which waiting does not help."""

SPREAD = 0.5
"""Requests that were asked to wait for the same time are spread over this many seconds."""


@dataclass(frozen=True)
class RetryWaits:
    """The waits between attempts, as long as the endpoint asks, or with exponential backoff and jitter.

    Attributes:
        retries: attempts after the first, at most.
        patience: seconds for all attempts and waits, after which no further one begins; 0 disables retries.
        first, longest: seconds before the first retry, doubled for each further one, and before any.
        least: the share of these seconds that is waited at least; the rest is drawn at random (0: full jitter).
        most_asked: seconds that an endpoint may ask to wait; if it asks for more, there is no retry.
        draw: a random number between two others.
    """

    retries: int = 8
    patience: float = 120.0
    first: float = 0.5
    longest: float = 30.0
    least: float = 0.0
    most_asked: float = inf
    draw: Callable[[float, float], float] = random.uniform

    def wait(self, number: int, elapsed: float, asked: float | None) -> float | None:
        """Return the seconds to wait before the next attempt, or None to give up.

        Args:
            number: of the attempt that failed, from 1.
            elapsed: seconds so far.
            asked: the seconds of the endpoint's ``Retry-After``; 0 asks for nothing.
        """
        if number > self.retries or not self.patience or (asked or 0.0) > self.most_asked:
            return None
        if asked:
            seconds = asked + self.draw(0.0, SPREAD)
        else:
            longest = min(self.longest, self.first * 2.0 ** (number - 1))
            seconds = self.draw(self.least * longest, longest)
        return seconds if elapsed + seconds <= self.patience else None


def may_recover(status: int, body: str = "") -> bool:
    """Return whether the same request may be answered later, after a refusal with this status and body."""
    return status in TRANSIENT and not (status == 429 and NO_CREDIT in body)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that an endpoint asks to wait before the next request, or None if it asks for nothing.

    Read from ``Retry-After`` (RFC 9110, section 10.2.3: seconds or a date), or from the more exact ``retry-after-ms``
    of OpenAI and Azure. Unreadable values ask for nothing.

    Args:
        headers: of the response; upper and lower case must not matter in their names.
        now: the time that a date is compared with, by default this machine's.
    """
    value = headers.get("retry-after")
    for seconds, unit in ((headers.get("retry-after-ms"), 1000.0), (value, 1.0)):
        with suppress(ValueError):
            if isfinite(number := float(seconds or "")):
                return max(0.0, number) / unit
    with suppress(ValueError, TypeError, OverflowError):
        moment = parsedate_to_datetime(value or "")
        # A date that says -0000 has no zone; HTTP dates are UTC.
        return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - (now or datetime.now(UTC))).total_seconds())
    return None


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
