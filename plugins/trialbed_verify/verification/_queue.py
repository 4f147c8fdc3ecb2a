"""The queue of a target's cases, and the order in which targets are served."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from trialbed.errors import DriverError, TrialbedError, UsageError
from trialbed.wire.circuit import CircuitOpen
from trialbed_verify.verification._retries import VendorDown
from trialbed_verify.verification._sender import Sender
from trialbed_verify.verification.cases import Case
from trialbed_verify.verification.results import Journal, Key, Row, Tally
from trialbed_verify.verification.targets import Target

CaseOf = Callable[[int], Case]
"""Line of the test set -> its case."""

OnRow = Callable[[Target, Row], None]
"""Called with the row of each completed case."""

STAGGER = 0.002
"""Seconds between the starts of two workers: answers that arrive one by one are timed better than all at once."""


class TargetQueue:
    """The cases of one target that are still to be sent, and the rows of those that are complete.

    Attributes:
        tally: of the rows that stay in the file and of those that were added.
        down: whether sending was stopped for good.
        failure: the driver's error, if that is what stopped it.
    """

    def __init__(self, target: Target, journal: Journal, sender: Sender, todo: Sequence[Key], tally: Tally) -> None:
        self.target = target
        self.journal = journal
        self.tally = tally
        self.down = False
        self.failure: str | None = None
        self._sender = sender
        self._queue = deque(todo)
        self._in_flight = set[Key]()
        self._total = len(todo)
        self._completed = 0

    @property
    def left(self) -> int:
        """Cases that were not sent or not completed."""
        return len(self._queue)

    async def send_block(self, case_of: CaseOf, concurrency: int, size: int, on_row: OnRow) -> None:
        """Send the next cases; stops early where the circuit breaker opens.

        Args:
            concurrency: cases in flight at a time.
            size: of the block, in cases.
        """
        taken = [self._queue.popleft() for _ in range(min(size, len(self._queue)))]
        block = deque(taken)
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(min(concurrency, len(block))):
                    group.create_task(self._work(block, case_of, on_row, number * STAGGER))
        finally:
            left = set(block)
            self._queue.extendleft(key for key in reversed(taken) if key in left)

    async def wait_for_probe(self) -> None:
        """Wait until the circuit breaker allows the next request."""
        if pause := self._sender.pause:
            await asyncio.sleep(pause)

    async def finish(self) -> None:
        """Sort the results file and check that no case was lost.

        Raises:
            TrialbedError: the file cannot be written, or a case was lost.
        """
        await asyncio.to_thread(self._count_old_rows)
        await self.journal.compact()
        self._check_counts()

    async def _work(self, block: deque[Key], case_of: CaseOf, on_row: OnRow, delay: float) -> None:
        await asyncio.sleep(delay)
        while block and not self.down:
            key = block.popleft()
            self._in_flight.add(key)
            try:
                await self._sender.send(case_of(key[0]), key[1], partial(self._complete, key, on_row))
            except VendorDown:
                self.down = True
            except CircuitOpen:
                return
            except (DriverError, UsageError) as error:
                # A driver's failure ends its own target; the others go on.
                self.down, self.failure = True, str(error)
            finally:
                if key in self._in_flight:
                    self._in_flight.remove(key)
                    # Its attempts may have begun, so it goes to the front.
                    block.appendleft(key)

    def _complete(self, key: Key, on_row: OnRow, row: Row) -> None:
        """Write the row of a completed case before anything else can happen."""
        row = self.journal.append(key, row)
        self._in_flight.remove(key)
        self._completed += 1
        self.tally.add(row)
        on_row(self.target, row)

    def _count_old_rows(self) -> None:
        """Count the earlier failures of cases that were not sent again: their rows stay in the file."""
        old = {key for key in self._queue if self.journal.has(key)}
        for key, row in self.journal.latest_rows() if old else ():
            if key in old:
                self.tally.add(row)

    def _check_counts(self) -> None:
        if self._completed + self.left != self._total or self.journal.count != self.tally.total:
            raise TrialbedError(
                f"{self.journal.path}: cases were lost. This is a bug in Trialbed; please report it. Of {self._total} "
                f"cases to send, {self._completed} were completed and {self.left} are left; the file has "
                f"{self.journal.count} rows, the summary counts {self.tally.total}. Do not rely on these figures"
            )


async def round_robin(
    queues: Iterable[TargetQueue], concurrency: int, serve: Callable[[TargetQueue], Awaitable[None]]
) -> None:
    """Serve queues in turn until all are empty or down; the one that has waited longest is next.

    A queue gives up its slot after every block. While its circuit breaker is open it waits without a slot.

    Args:
        concurrency: queues served at a time.
        serve: sends one block of a queue.
    """
    slots = asyncio.Semaphore(concurrency)  # It is fair: first come, first served.

    async def serve_all(queue: TargetQueue) -> None:
        while queue.left and not queue.down:
            async with slots:
                await serve(queue)
            await queue.wait_for_probe()

    async with asyncio.TaskGroup() as group:
        for queue in queues:
            group.create_task(serve_all(queue))
