"""Retries of one case, and the circuit breaker of one vendor."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from math import inf
from time import monotonic

from trialbed.wire import RetryWaits, may_recover
from trialbed.wire.circuit import CircuitBreaker
from trialbed_verify.verification.exchange import EndpointAttempt

REFUSED_REQUEST = frozenset((400, 413, 422))
"""HTTP statuses that concern this one request, at a vendor that answers others."""

PROBE_DELAY = 1.0
"""Seconds before the first probe of a vendor that only fails; doubles with each further one."""

LEAST = 0.5
"""The share of each wait that is not drawn at random."""


def retry_waits(retries: int) -> RetryWaits:
    """Return the waits between the attempts at a case, for which an hour is left at most."""
    return RetryWaits(retries, patience=3600.0, longest=60.0, least=LEAST, most_asked=120.0)


def is_transient(attempt: EndpointAttempt) -> bool:
    """Return whether another attempt may succeed: after a failed connection, a timeout or a transient HTTP status.

    A protocol error is the vendor's answer and is final.
    """
    outcome = attempt.reading.outcome
    if outcome == "timeout":
        return True
    said = attempt.reading.problem.message if attempt.reading.problem else ""
    return outcome == "transport_error" and (attempt.status in (None, 200) or may_recover(attempt.status or 0, said))


class VendorDown(Exception):
    """The vendor failed too often in a row; its remaining cases are not sent."""


class VendorCircuit(CircuitBreaker):
    """The circuit breaker of one vendor.

    After ``probes`` failed probes the vendor counts as down. A vendor that never answered, and whose failures are all
    permanent (a wrong address, key or model), counts as down as soon as the circuit opens.

    Args:
        blocking: whether ``guard`` waits for the next probe; otherwise it raises ``CircuitOpen``.
        clock: seconds since any fixed moment.
    """

    def __init__(
        self, threshold: int = 20, probes: int = 5, *, blocking: bool = True, clock: Callable[[], float] = monotonic
    ) -> None:
        super().__init__(clock, threshold=threshold, first=PROBE_DELAY)
        self._probes = probes
        self._blocking = blocking
        self._answered = False
        self._could_recover = False

    @property
    def is_down(self) -> bool:
        """Return whether nothing more is sent."""
        hopeless = not (self._answered or self._could_recover)
        return self.is_open and (hopeless or self.failed_probes >= self._probes)

    @property
    def pause(self) -> float:
        """Seconds until the next attempt may be made; 0 if one may be made now, or none ever will be."""
        return 0.0 if self.is_down else super().pause

    def guard(self) -> AbstractAsyncContextManager[bool]:
        """Hold this during an attempt, and wait until one may be made; gives whether it is a probe.

        Raises:
            VendorDown: no further attempt will be made.
            CircuitOpen: no attempt may be made yet, and this circuit does not block.
        """
        return self.attempt(self._until)

    def _until(self) -> float:
        if self.is_down:
            raise VendorDown
        return inf if self._blocking else -inf

    def record(self, attempt: EndpointAttempt) -> None:
        """Count an attempt; any answer, even a wrong one, shows that the vendor works."""
        if attempt.reading.outcome not in ("transport_error", "timeout"):
            self._answered = True
            self.succeeded()
        elif attempt.status == 429 and not is_transient(attempt):
            # The account has no credit left: nothing more is sent.
            self._answered = self._could_recover = False
            self.failures = self._threshold
            self.failed()
        elif not (self._answered and attempt.status in REFUSED_REQUEST):
            self._could_recover |= _could_recover(attempt)
            self.failed()


def _could_recover(attempt: EndpointAttempt) -> bool:
    """Return whether a vendor that failed like this may answer later or answer another request."""
    problem = attempt.reading.problem
    if problem is not None and problem.kind == "connect":
        return False
    return is_transient(attempt) or attempt.status in REFUSED_REQUEST
