"""Sends the cases of one target: from a line of the test set to a result row."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from trialbed.errors import DriverBroken, TrialbedError
from trialbed.wire import RetryWaits
from trialbed.wire.circuit import CircuitOpen
from trialbed_verify.call_schemas import declared_schemas
from trialbed_verify.verification._event_loop import LagMeter, take_turn
from trialbed_verify.verification._retries import VendorCircuit, VendorDown, is_transient
from trialbed_verify.verification.cases import Case
from trialbed_verify.verification.exchange import EndpointAttempt, Exchange
from trialbed_verify.verification.row import Row, result_row
from trialbed_verify.verification.targets import PreparedRequest, Target


@dataclass
class _PendingCase:
    """A case whose attempts have begun.

    Attributes:
        requested: when it was ready for its next attempt, on the loop's clock.
        waited: seconds of waiting before that attempt, for a retry.
        queued: seconds that it waited for the circuit breaker.
        started: when its first attempt was made; waiting before that does not count towards the deadline.
    """

    requested: float
    waited: float = 0.0
    queued: float = 0.0
    started: float = 0.0
    attempts: list[EndpointAttempt] = field(default_factory=list)


@dataclass
class Sender:
    """Sends cases to one target, and delivers exactly one row for each.

    Attributes:
        turns: taken, by all senders, to prepare a request or make a row.
    """

    target: Target
    exchange: Exchange
    waits: RetryWaits
    breaker: VendorCircuit
    lag: LagMeter
    turns: asyncio.Lock
    _suspended: dict[tuple[int, int], _PendingCase] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._config = self.target.digest()
        self._clock = asyncio.get_running_loop().time

    async def send(self, case: Case, trial: int, on_row: Callable[[Row], None]) -> None:
        """Send a case until it is complete, and deliver its row, even if cancelled once the answer is there.

        Raises:
            VendorDown: the circuit breaker gave the vendor up; the case was not sent.
            CircuitOpen: the case continues where it stopped when it is sent again.
            DriverBroken: the driver of the vendor or of the model failed to prepare the request; nothing was sent.
        """
        await take_turn(self.turns)
        prepared = self.prepare(case)
        key = case.index, trial
        pending = self._suspended.pop(key, None) or _PendingCase(requested=self._clock())
        try:
            await self._attempt(pending, prepared, declared_schemas(prepared.tools).keys())
        except CircuitOpen:
            self._suspended[key] = pending
            raise
        try:
            await take_turn(self.turns)
        finally:
            on_row(self._row(case, trial, prepared, pending))

    def prepare(self, case: Case) -> PreparedRequest:
        """Prepare the request of a case.

        Raises:
            DriverBroken, UsageError: the request cannot be prepared.
        """
        try:
            return self.target.prepare(case.body)
        except TrialbedError:
            raise
        except Exception as error:
            raise DriverBroken(
                f"{self.target.name}: the vendor's driver or the model adapter {self.target.adapter_name!r} could "
                f"not prepare line {case.index}: {type(error).__name__}: {error}"
            ) from error

    def _row(self, case: Case, trial: int, prepared: PreparedRequest, pending: _PendingCase) -> Row:
        lag = self.lag.since(self._clock() - pending.attempts[-1].duration)
        known = (self.target, self._config, case, trial, prepared, pending.attempts)
        return result_row(*known, queued=pending.queued, lag=lag)

    async def _attempt(self, pending: _PendingCase, prepared: PreparedRequest, names: Collection[str]) -> None:
        attempts = pending.attempts
        while True:
            try:
                async with self.breaker.guard():
                    queued = self._clock() - pending.requested
                    waited = pending.waited + queued if attempts else 0.0
                    attempts.append(await self.exchange(prepared, names, waited))
                    self.breaker.record(attempts[-1])
            except VendorDown:
                if not attempts:
                    raise
                return
            pending.queued += queued
            if len(attempts) == 1:
                pending.started = pending.requested + queued
            if not is_transient(attempts[-1]):
                return
            wait = self.waits.wait(len(attempts), self._clock() - pending.started, attempts[-1].retry_after)
            if wait is None:
                return
            await asyncio.sleep(wait)
            pending.waited, pending.requested = wait, self._clock()
