"""The circuit breaker of an upstream endpoint, and the signs of life by which a silent request is judged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from trialbed.records import CircuitState
from trialbed.wire.circuit import CircuitBreaker, CircuitOpen
from trialbed_server._clock import Clock

REQUESTS = 2
"""Different requests that must be among the failures that open the circuit: a single one may be to blame itself."""

LONGEST_PROBE = 30.0

SLOWER = 2.0
"""Times longer than its slowest answer that an endpoint can be silent before that says something."""


class EndpointDown(Exception):
    """The endpoint is not asked: it has failed for too long, or this request cannot wait any longer."""


class Circuit(CircuitBreaker):
    """Holds requests back while an endpoint only fails.

    While it is open, requests wait for a probe that is answered. If none is for as long as ``patience``, the endpoint
    is down: requests fail at once, except for a probe now and then.

    Args:
        clock: the server's.
        patience: seconds from the opening to ``down``; with 0 it never opens.

    Attributes:
        answered: how many requests were answered, from beginning to end.
        reason: the last failure, in words.
    """

    def __init__(self, clock: Clock, patience: float) -> None:
        super().__init__(clock.monotonic, clock.sleep, longest=LONGEST_PROBE)
        self.answered = 0
        self.reason = ""
        self._patience = patience
        self._requests: set[bytes] = set()
        self._hopeless = True
        self._opened: float | None = None

    @property
    def state(self) -> CircuitState:
        """Return whether requests are sent (``closed``), wait (``open``) or fail (``down``)."""
        if not self.is_open:
            return "closed"
        return "down" if self._clock() >= self._given_up else "open"

    @property
    def _given_up(self) -> float:
        patience = 0.0 if self._hopeless else self._patience
        return (self._opened or 0.0) + patience

    @asynccontextmanager
    async def request(self, patience: float, on_wait: Callable[[], None]) -> AsyncIterator[bool]:
        """Hold this during an attempt; waits until it may be made. Gives whether it is a probe.

        Args:
            patience: seconds that this request can wait.
            on_wait: called before it waits.

        Raises:
            EndpointDown: it may not be made.
        """
        deadline = self._clock() + patience
        try:
            async with self.attempt(lambda: min(self._given_up, deadline), on_wait) as probe:
                yield probe
        except CircuitOpen:
            raise EndpointDown(self.reason) from None

    def completed(self, *, answered: bool) -> None:
        """The endpoint works: it answered a request, or refused one as wrong."""
        self.answered += answered
        self._requests.clear()
        self._hopeless = True
        self._opened = None
        self.succeeded()

    def refused(self, request: bytes, reason: str, *, asked: float | None = None, useless: bool = False) -> None:
        """An attempt failed for a reason that concerns the endpoint.

        Args:
            request: equal for equal requests.
            asked: the seconds that the endpoint asks to wait.
            useless: whether waiting does not help: the key is refused, or the address is wrong.
        """
        self.reason = reason
        self._requests.add(request)
        self._hopeless = self._hopeless and useless
        self.failed(asked=asked or 0.0, opens=self._patience > 0 and len(self._requests) >= REQUESTS)
        if self.is_open and self._opened is None:
            self._opened = self._clock()


class Liveness:
    """Distinguishes a request that is just being answered from one at an endpoint that no longer answers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = float("-inf")
        self._slowest = 0.0

    def began(self, asked: float) -> None:
        """A request that was sent at this time begins to be answered now."""
        self._last = self._clock.monotonic()
        self._slowest = max(self._slowest, self._last - asked)

    def silent_since(self, asked: float) -> bool:
        """Return whether the endpoint has answered nothing since, for longer than it ever took to begin an answer."""
        return self._last <= asked and self._clock.monotonic() - asked > SLOWER * self._slowest
