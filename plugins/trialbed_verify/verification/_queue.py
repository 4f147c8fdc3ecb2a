"""The queue of a target's cases, and the order in which targets are served."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from trialbed.errors import DriverError, TrialbedError, UsageError
from trialbed.wire.circuit import CircuitOpen
from trialbed_verify.verification._retries import VendorDown
from trialbed_verify.verification._sender import Sender
from trialbed_verify.verification.cases import TestSet
from trialbed_verify.verification.row import Row
from trialbed_verify.verification.targets import Target

Key = tuple[int, int]
"""Line of the test set and number of the trial."""


class KeptCase(NamedTuple):
    """A case that the store has: the number of its last attempt, and whether it was answered and is not sent again."""

    attempt: int
    is_answered: bool


STAGGER = 0.002
"""Seconds between the starts of two workers: answers that arrive one by one are timed better than all at once."""


@dataclass
class TargetQueue:
    """The cases of one target that are still to be sent.

    Attributes:
        label: the endpoint's, in the run.
        todo: those that were not sent or not completed.
        stored: those that the store had before, each with its last attempt.
        keep: is given the row of each completed case.
        room: waits while many rows are yet to be stored.
        completed: the cases that were completed.
        down: whether sending was stopped for good.
        failure: the driver's error, if that is what stopped it.
    """

    label: str
    target: Target
    sender: Sender
    todo: deque[Key]
    stored: Mapping[Key, KeptCase]
    keep: Callable[[Key, Row], None]
    room: Callable[[], Awaitable[None]]
    completed: set[Key] = field(default_factory=set)
    down: bool = False
    failure: str | None = None

    def __post_init__(self) -> None:
        self._total = len(self.todo)

    @property
    def is_incomplete(self) -> bool:
        """Return whether a case is left that the store has no attempt of."""
        return not self.stored.keys() >= set(self.todo)

    @property
    def left(self) -> int:
        """The number of cases that were not sent or not completed."""
        return len(self.todo)

    async def send_block(self, cases: TestSet, concurrency: int, size: int) -> None:
        """Send the next cases of the test set; stops early where the circuit breaker opens.

        Args:
            concurrency: cases in flight at a time.
            size: of the block, in cases.
        """
        taken = [self.todo.popleft() for _ in range(min(size, len(self.todo)))]
        block = deque(taken)
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(min(concurrency, len(block))):
                    group.create_task(self._work(block, cases, number * STAGGER))
        finally:
            left = set(block)
            self.todo.extendleft(key for key in reversed(taken) if key in left)

    async def wait_for_probe(self) -> None:
        """Wait until the circuit breaker allows the next request."""
        await asyncio.sleep(self.sender.breaker.pause)

    async def _work(self, block: deque[Key], cases: TestSet, delay: float) -> None:
        await asyncio.sleep(delay)
        while block and not self.down:
            key = block.popleft()
            try:
                await self.sender.send(cases.at_line(key[0]), key[1], partial(self._complete, key))
                await self.room()
            except VendorDown:
                self.down = True
            except CircuitOpen:
                return
            except (DriverError, UsageError) as error:
                # A driver's failure ends its own target; the others go on.
                self.down, self.failure = True, str(error)
            finally:
                if key not in self.completed:
                    # Its attempts may have begun, so it goes to the front.
                    block.appendleft(key)

    def _complete(self, key: Key, row: Row) -> None:
        """Take in the row of a completed case before anything else can happen."""
        self.keep(key, row)
        self.completed.add(key)

    def check_counts(self, stored: int) -> None:
        """Check that no case was lost.

        Args:
            stored: cases that are stored now.

        Raises:
            TrialbedError: a case was lost.
        """
        completed, kept = len(self.completed), len(self.stored.keys() - self.completed)
        if completed + self.left != self._total or kept + completed != stored:
            raise TrialbedError(
                f"{self.target.name}: cases were lost. This is a bug in Trialbed; please report it. Of {self._total} "
                f"cases to send, {completed} were completed and {self.left} are left; {kept} were stored before, "
                f"and {stored} are now. Do not rely on these figures"
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
