"""Retries of one case, and the circuit breaker of one vendor."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic

from trialbed_verify.verification.wire import Attempt

RETRIED_STATUS = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529))
"""HTTP statuses after which another attempt may succeed."""

REFUSED_REQUEST = frozenset((400, 413, 422))
"""HTTP statuses that concern this one request, at a vendor that answers others."""

SHORTEST_WAIT = 0.5
LONGEST_WAIT = 60.0

PROBE_DELAY = 1.0
"""Seconds before the first probe of a vendor that only fails; doubles with each further one."""


@dataclass(frozen=True)
class RetryPolicy:
    """When to try a case again.

    A protocol error is the vendor's answer and is final. A failed connection, a timeout and a transient HTTP status
    are tried again.

    Attributes:
        retries: attempts after the first, at most.
        deadline: seconds for a case with all its attempts and waits; no retry begins after it.
    """

    retries: int = 3
    deadline: float = 3600.0

    def wait(self, attempt: Attempt, number: int, elapsed: float) -> float | None:
        """Seconds to wait before the next attempt; None if this attempt was the last.

        Args:
            number: of the attempt that ended, from 1.
            elapsed: seconds since the first attempt began.
        """
        if number > self.retries or not _is_transient(attempt):
            return None
        # A Retry-After of 0 is ignored.
        seconds = attempt.retry_after or _backoff(number)
        seconds += random.uniform(0, 0.25) * min(seconds, SHORTEST_WAIT)  # noqa: S311 - spreads load, guards nothing
        return seconds if seconds <= LONGEST_WAIT * 2 and elapsed + seconds < self.deadline else None


def _backoff(number: int) -> float:
    longest = min(LONGEST_WAIT, SHORTEST_WAIT * 2.0 ** (number - 1))
    return random.uniform(longest / 2, longest)  # noqa: S311 - spreads load, guards nothing


def _is_transient(attempt: Attempt) -> bool:
    """Whether another attempt may succeed."""
    outcome = attempt.reading.outcome
    if outcome == "timeout":
        return True
    return outcome == "transport_error" and (attempt.status in RETRIED_STATUS or attempt.status in (None, 200))


class VendorDown(Exception):
    """The vendor failed too often in a row; its remaining cases are not sent."""


class BreakerOpen(Exception):
    """The circuit breaker is open; the case can be sent or continued later."""


class CircuitBreaker:
    """Stops sending to a vendor that only fails (Nygard's circuit breaker).

    It opens after ``threshold`` consecutive failures. From then on one attempt at a time probes the vendor, each after
    a longer delay. After ``probes`` failed probes the vendor counts as down. Attempts that were in flight when the
    breaker opened do not count as probes. A vendor that never answered, and whose failures are all permanent (a wrong
    address, key or model), counts as down as soon as the breaker opens.

    Args:
        blocking: whether ``guard`` waits for the next probe; otherwise it raises ``BreakerOpen``.
        clock: seconds since any fixed moment.
    """

    def __init__(
        self, threshold: int = 20, probes: int = 5, *, blocking: bool = True, clock: Callable[[], float] = monotonic
    ) -> None:
        self._threshold = threshold
        self._probes = probes
        self._blocking = blocking
        self._clock = clock
        self._failures = 0
        self._failed_probes = 0
        self._next_probe = 0.0
        self._answered = False
        self._could_recover = False
        self._probe = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        """Whether only probes are sent."""
        return self._failures >= self._threshold

    @property
    def is_down(self) -> bool:
        """Whether nothing more is sent."""
        hopeless = not (self._answered or self._could_recover)
        return self.is_open and (hopeless or self._failed_probes >= self._probes)

    @property
    def pause(self) -> float:
        """Seconds until the next attempt may be made; 0 if one may be made now, or none ever will be."""
        waiting = self.is_open and not self.is_down
        return max(0.0, self._next_probe - self._clock()) if waiting else 0.0

    @asynccontextmanager
    async def guard(self) -> AsyncIterator[None]:
        """Hold this during an attempt; waits until one may be made.

        Raises:
            VendorDown: no further attempt will be made.
            BreakerOpen: no attempt may be made yet, and this breaker does not block.
        """
        if self.is_open:
            async with self._probe:
                if self.is_open:
                    await self._wait_for_probe()
                    before = self._failures
                    yield
                    self._record_probe(failed=self._failures > before)
                    return
        yield

    async def _wait_for_probe(self) -> None:
        if self.is_down:
            raise VendorDown
        pause = self.pause
        if pause and not self._blocking:
            raise BreakerOpen
        await asyncio.sleep(pause)

    def _record_probe(self, *, failed: bool) -> None:
        if failed:
            self._failed_probes += 1
            self._schedule_probe()

    def _schedule_probe(self) -> None:
        self._next_probe = self._clock() + PROBE_DELAY * 2.0**self._failed_probes

    def record(self, attempt: Attempt) -> None:
        """Count an attempt; any answer, even a wrong one, shows that the vendor works."""
        if attempt.reading.outcome not in ("transport_error", "timeout"):
            self._answered = True
            self._failures = self._failed_probes = 0
        elif not (self._answered and attempt.status in REFUSED_REQUEST):
            self._could_recover |= _could_recover(attempt)
            self._failures += 1
            self._schedule_probe()


def _could_recover(attempt: Attempt) -> bool:
    """Whether a vendor that failed like this may answer later or answer another request."""
    problem = attempt.reading.problem
    if problem is not None and problem.kind == "connect":
        return False
    return _is_transient(attempt) or attempt.status in REFUSED_REQUEST
