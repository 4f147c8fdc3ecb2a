"""The one retry policy: how often, how long to wait, and when to leave a vendor alone."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic

from trialbed_verify.verification.wire import Attempt

RETRIED_STATUS = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529))
"""HTTP statuses that another attempt may mend."""

REFUSED_REQUEST = frozenset((400, 413, 422))
"""HTTP statuses that are about the one request, as of a vendor that answers others."""

FIRST_WAIT = 0.5
LONGEST_WAIT = 60.0

PAUSE = 1.0
"""Seconds before the first probe of a vendor that only fails; doubles with each."""


@dataclass(frozen=True)
class RetryPolicy:
    """When to try again.

    A protocol error is the vendor's answer and is never tried again. What failed on the way, timed out, or was
    refused with a status that may pass is.

    Attributes:
        retries: attempts after the first, at most.
        deadline: seconds for a case with all its attempts and waits; no retry begins after it.
    """

    retries: int = 3
    deadline: float = 3600.0

    def wait(self, attempt: Attempt, number: int, elapsed: float) -> float | None:
        """Seconds to wait before the next attempt; None if there shall be none.

        Args:
            number: of the attempt that ended, from 1.
            elapsed: seconds since the first began.
        """
        if number > self.retries or not _may_pass(attempt):
            return None
        # Who asks for no wait at all is not taken at its word.
        seconds = attempt.retry_after or _backoff(number)
        seconds += random.uniform(0, 0.25) * min(seconds, FIRST_WAIT)  # noqa: S311 - spreads load, guards nothing
        return seconds if seconds <= LONGEST_WAIT * 2 and elapsed + seconds < self.deadline else None


def _backoff(number: int) -> float:
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (number - 1))
    return random.uniform(longest / 2, longest)  # noqa: S311 - spreads load, guards nothing


def _may_pass(attempt: Attempt) -> bool:
    outcome = attempt.reading.outcome
    if outcome == "timeout":
        return True
    return outcome == "transport_error" and (attempt.status in RETRIED_STATUS or attempt.status in (None, 200))


class VendorDown(Exception):
    """The vendor failed too often in a row; its remaining cases are not sent."""


class VendorPaused(Exception):
    """The vendor is left alone for a while; the case can be sent, or go on, later."""


class Breaker:
    """Stops sending to a vendor that only fails (Nygard's circuit breaker).

    After ``threshold`` failures on the way in a row it opens: one attempt at a time probes the vendor, each after a
    longer pause; after ``probes`` failed ones the vendor counts as down. Attempts that were under way when it opened
    are no probes, however many they are. The vendor counts as down at once if it never answered anything and no
    failure was one that may pass: the address, the key or the model is wrong.

    Args:
        waits: whether pauses are waited for here; else the caller is told, and has better to do.
        clock: seconds from any moment on.
    """

    def __init__(
        self, threshold: int = 20, probes: int = 5, *, waits: bool = True, clock: Callable[[], float] = monotonic
    ) -> None:
        self._threshold = threshold
        self._probes = probes
        self._waits = waits
        self._clock = clock
        self._failures = 0
        self._failed_probes = 0
        self._next_probe = 0.0
        self._answered = False
        self._may_pass = False
        self._probe = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        """Whether only probes are sent."""
        return self._failures >= self._threshold

    @property
    def is_down(self) -> bool:
        """Whether nothing more is sent."""
        hopeless = not (self._answered or self._may_pass)
        return self.is_open and (hopeless or self._failed_probes >= self._probes)

    @property
    def pause(self) -> float:
        """Seconds until the next attempt may be made; 0 where one may, or none ever will be."""
        waiting = self.is_open and not self.is_down
        return max(0.0, self._next_probe - self._clock()) if waiting else 0.0

    @asynccontextmanager
    async def passage(self) -> AsyncIterator[None]:
        """Hold this while an attempt is under way; waits until one may be made.

        Raises:
            VendorDown: none will be.
            VendorPaused: none may be made yet, and this is not to wait.
        """
        if self.is_open:
            async with self._probe:
                if self.is_open:
                    await self._pause_before_probe()
                    before = self._failures
                    yield
                    self._note_probe(failed=self._failures > before)
                    return
        yield

    async def _pause_before_probe(self) -> None:
        if self.is_down:
            raise VendorDown
        pause = self.pause
        if pause and not self._waits:
            raise VendorPaused
        await asyncio.sleep(pause)

    def _note_probe(self, *, failed: bool) -> None:
        if failed:
            self._failed_probes += 1
            self._put_off()

    def _put_off(self) -> None:
        self._next_probe = self._clock() + PAUSE * 2.0**self._failed_probes

    def note(self, attempt: Attempt) -> None:
        """Learn from an attempt: any answer, however wrong, shows that the vendor is there."""
        if attempt.reading.outcome not in ("transport_error", "timeout"):
            self._answered = True
            self._failures = self._failed_probes = 0
        elif not (self._answered and attempt.status in REFUSED_REQUEST):
            self._may_pass |= _may_be_there(attempt)
            self._failures += 1
            self._put_off()


def _may_be_there(attempt: Attempt) -> bool:
    """Whether a failure leaves room for hope: it is neither an address where nobody is nor a closed door."""
    problem = attempt.reading.problem
    if problem is not None and problem.kind == "connect":
        return False
    return _may_pass(attempt) or attempt.status in REFUSED_REQUEST
