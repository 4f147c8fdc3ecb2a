"""Send cases to vendors with a queue per target, retries, and a circuit breaker for each vendor.

``send_all`` serves the queues in turn. A ``TargetQueue`` sends its cases, and makes one row of each: it waits for its
turn to prepare the request, makes attempts until one is final, and waits for its turn to make the row.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import NamedTuple

from trialbed.errors import DriverError, UsageError
from trialbed.wire import RetryWaits, may_recover
from trialbed.wire.circuit import CircuitBreaker, CircuitOpen
from trialbed_verify.verification.cases import Case, TestSet
from trialbed_verify.verification.exchange import EndpointAttempt, Exchange
from trialbed_verify.verification.row import Row, result_row
from trialbed_verify.verification.targets import PreparedRequest, Target, blaming_driver

BLOCK = 4
"""Cases per request slot in a target's turn."""

STAGGER = 0.002
"""Seconds between the starts of two workers; answers are timed better if they do not arrive together."""

REFUSED_REQUEST = frozenset((400, 413, 422))
"""HTTP statuses that concern this one request, at a vendor that answers others."""

PROBE_DELAY = 1.0
"""Seconds before the first probe of a vendor that only fails; doubles with each further one."""

LAG_INTERVAL = 0.01
"""Seconds between two measurements of the event loop's lag."""

Key = tuple[int, int]
"""Line of the test set and number of the trial."""


class KeptCase(NamedTuple):
    """A stored case, with the number of its last attempt. It is not sent again if it was answered."""

    attempt: int
    is_answered: bool


async def send_all(
    queues: Sequence[TargetQueue], vendor_concurrency: int, on_down: Callable[[Target, int, str | None], None]
) -> None:
    """Send all cases. Targets take turns, a block at a time, so changes over time affect all of them equally.

    A target with an open circuit breaker waits without a slot. ``on_down`` is called for each target that is stopped
    for good, with the number of remaining cases and a driver's error.
    """
    slots = asyncio.Semaphore(vendor_concurrency)  # It is fair: first come, first served.
    busy = [queue for queue in queues if queue.todo]

    async def serve(queue: TargetQueue) -> None:
        while queue.todo and not queue.down:
            async with slots:
                await queue.send(BLOCK * queue.concurrency if len(busy) > vendor_concurrency else len(queue.todo))
            await asyncio.sleep(queue.breaker.pause)
        if queue.down:
            on_down(queue.target, len(queue.todo), queue.failure)

    async with asyncio.TaskGroup() as group:
        for queue in busy:
            group.create_task(serve(queue))


@dataclass
class _BegunCase:
    """The state of a case after its first attempt began.

    Attributes:
        requested: when it was ready for its next attempt, on the loop's clock.
        waited, queued: seconds of waiting before that attempt, for a retry and for the circuit breaker.
        started: when its first attempt was made; waiting before that does not count towards the deadline.
    """

    requested: float
    waited: float = 0.0
    queued: float = 0.0
    started: float = 0.0
    attempts: list[EndpointAttempt] = field(default_factory=list)


@dataclass
class TargetQueue:
    """The remaining cases of one target.

    Attributes:
        todo: the cases that were not sent or not completed.
        stored: the cases that the store already had.
        keep: is immediately called with the row of each completed case.
        room: waits while too many rows are queued for the store.
        down: whether sending was stopped for good.
        failure: the driver's error, if it was the reason.
    """

    label: str
    target: Target
    cases: TestSet
    todo: deque[Key]
    stored: Mapping[Key, KeptCase]
    exchange: Exchange
    concurrency: int
    waits: RetryWaits
    breaker: VendorCircuit
    lag: LagMeter
    turns: asyncio.Lock
    keep: Callable[[Key, Row], None]
    room: Callable[[], Awaitable[None]]
    completed: set[Key] = field(default_factory=set)
    down: bool = False
    failure: str | None = None
    _begun: dict[Key, _BegunCase] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._config = self.target.digest()
        self._clock = asyncio.get_running_loop().time

    async def send(self, size: int) -> None:
        """Send the next cases of the test set; stop early if the circuit breaker opens."""
        taken = [self.todo.popleft() for _ in range(min(size, len(self.todo)))]
        block = deque(taken)
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(min(self.concurrency, len(block))):
                    group.create_task(self._work(block, number * STAGGER))
        finally:
            # Incomplete cases go to the front because their attempts may have begun.
            self.todo.extendleft(key for key in reversed(taken) if key not in self.completed)

    async def _work(self, block: deque[Key], delay: float) -> None:
        await asyncio.sleep(delay)
        try:
            await take_turn(self.turns)
            while block and not self.down:
                await self._send_case(block.popleft())
        except CircuitOpen:
            pass
        except VendorDown:
            self.down = True
        except (DriverError, UsageError) as error:
            # A driver's failure ends its own target; the others go on.
            self.down, self.failure = True, str(error)

    async def _send_case(self, key: Key) -> None:
        """Send a case until it is complete and keep its row, even if cancelled after the answer was received.

        After CircuitOpen, the case continues at the same point when it is sent again.
        """
        case = self.cases.at_line(key[0])
        prepared = self.prepare(case)
        begun = self._begun.setdefault(key, _BegunCase(self._clock()))
        await self._attempt(begun, prepared)
        try:
            await self.room()
            # The next case is prepared in this turn, too.
            await take_turn(self.turns)
        finally:
            del self._begun[key]
            lag = self.lag.since(self._clock() - begun.attempts[-1].duration)
            known = (self.target, self._config, case, key[1], prepared, begun.attempts)
            self.keep(key, result_row(*known, queued=begun.queued, lag=lag))
            self.completed.add(key)

    def prepare(self, case: Case) -> PreparedRequest:
        """Prepare the request of a case."""
        drivers = f"the vendor's driver or the model adapter {self.target.adapter_name!r}"
        with blaming_driver(f"{self.target.name}: {drivers} could not prepare line {case.index}"):
            return self.target.prepare(case.body)

    async def _attempt(self, begun: _BegunCase, prepared: PreparedRequest) -> None:
        attempts = begun.attempts
        while True:
            try:
                async with self.breaker.guard():
                    queued = self._clock() - begun.requested
                    waited = begun.waited + queued if attempts else 0.0
                    attempts.append(await self.exchange(prepared, waited))
                    self.breaker.record(attempts[-1])
            except VendorDown:
                if not attempts:
                    raise
                return
            begun.queued += queued
            if len(attempts) == 1:
                begun.started = begun.requested + queued
            wait = self.waits.wait(len(attempts), self._clock() - begun.started, attempts[-1].retry_after)
            if wait is None or not is_transient(attempts[-1]):
                return
            await asyncio.sleep(wait)
            begun.waited, begun.requested = wait, self._clock()


async def take_turn(turns: asyncio.Lock) -> None:
    """Wait for a turn to do a CPU-bound piece of work that awaits nothing, with time for network events before it.

    Preparing a request or making a row takes a fraction of a millisecond. Two hundred of them in one iteration of the
    event loop would delay the time stamps of everything that arrives meanwhile.
    """
    async with turns:
        # Once to see what arrived, once to note when.
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def retry_waits(retries: int) -> RetryWaits:
    """Return the waits between the attempts at a case, at most an hour in total."""
    return RetryWaits(retries, patience=3600.0, longest=60.0, least=0.5, most_asked=120.0)


def is_transient(attempt: EndpointAttempt) -> bool:
    """Return whether another attempt may succeed, as after a failed connection, a timeout or a transient HTTP status.

    A protocol error is the vendor's answer and is final.
    """
    outcome, problem = attempt.reading.outcome, attempt.reading.problem
    if outcome != "transport_error" or attempt.status in (None, 200):
        return outcome in ("transport_error", "timeout")
    return may_recover(attempt.status or 0, problem.message if problem else "")


class VendorDown(Exception):
    """The vendor failed too often in a row; its remaining cases are not sent."""


class VendorCircuit(CircuitBreaker):
    """The circuit breaker of one vendor.

    After ``probes`` failed probes the vendor counts as down. A vendor that never answered, with only permanent failures
    (a wrong address, key or model), counts as down as soon as the circuit opens. A blocking breaker waits for the next
    probe.
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

        It raises VendorDown if no further attempt will be made, and CircuitOpen if it does not block.
        """
        return self.attempt(self._until) if self.is_open else nullcontext(False)

    def _until(self) -> float:
        if self.is_down:
            raise VendorDown
        return inf if self._blocking else -inf

    def record(self, attempt: EndpointAttempt) -> None:
        """Count an attempt; any answer, even a wrong one, shows that the vendor works."""
        problem, may_pass = attempt.reading.problem, is_transient(attempt)
        if attempt.reading.outcome not in ("transport_error", "timeout"):
            self._answered = True
            self.succeeded()
        elif attempt.status == 429 and not may_pass:
            # The account has no credit left: nothing more is sent.
            self._answered = self._could_recover = False
            self.failures = self._threshold
            self.failed()
        elif not (self._answered and attempt.status in REFUSED_REQUEST):
            unreachable = problem is not None and problem.kind == "connect"
            self._could_recover |= not unreachable and (may_pass or attempt.status in REFUSED_REQUEST)
            self.failed()


class LagMeter:
    """Measures how much later than requested the event loop wakes a task, second by second."""

    def __init__(self) -> None:
        self._worst: dict[int, float] = {}
        self._clock = asyncio.get_running_loop().time

    async def watch(self) -> None:
        """Measure until cancelled."""
        while True:
            due = self._clock() + LAG_INTERVAL
            await asyncio.sleep(LAG_INTERVAL)
            second = int(self._clock())
            self._worst[second] = max(self._worst.get(second, 0.0), self._clock() - due)

    def since(self, moment: float) -> float:
        """The worst lag, in seconds, between a moment on the loop's clock and now."""
        return max((self._worst.get(second, 0.0) for second in range(int(moment), int(self._clock()) + 1)), default=0.0)
