"""A circuit breaker for calls that need not wait, since another source can answer them."""

from __future__ import annotations

from trialbed_server._clock import Clock

FAILURES = 5
"""Failures in a row after which the endpoint is left alone."""

FIRST_PAUSE = 5.0
LONGEST_PAUSE = 300.0


class Breaker:
    """Keeps calls from an endpoint that only fails. After each pause one call is let through; pauses double.

    The gateway's circuit makes requests wait. Here they never do: the next source answers instead.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures = 0
        self._pauses = 0
        self._closed_until = 0.0

    @property
    def is_open(self) -> bool:
        """Return whether the endpoint is left alone now."""
        return self._clock.monotonic() < self._closed_until

    def admits(self) -> bool:
        """Return whether a call may be made now; the first after a pause keeps the others out until it has ended."""
        if self._failures < FAILURES:
            return True
        if self.is_open:
            return False
        self._pause()
        return True

    def succeeded(self) -> None:
        """The endpoint has answered."""
        self._failures = self._pauses = 0
        self._closed_until = 0.0

    def failed(self) -> None:
        """The endpoint has not answered, or refused the call."""
        self._failures += 1
        if self._failures == FAILURES:
            self._pause()

    def _pause(self) -> None:
        self._closed_until = self._clock.monotonic() + min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**self._pauses)
        self._pauses += 1
