"""What is to do for one target, and what was done."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from trialbed.errors import DriverError, TrialbedError, UsageError
from trialbed_verify.verification._retries import VendorDown, VendorPaused
from trialbed_verify.verification._sender import Sender
from trialbed_verify.verification.cases import Case
from trialbed_verify.verification.results import Journal, Key, Row, Tally
from trialbed_verify.verification.targets import Target

CaseOf = Callable[[int], Case]
"""Line of the test set -> its case."""

Note = Callable[[Target, Row], None]
"""Is told of each case that has ended."""


APART = 0.002
"""Seconds between the starts of two lanes: answers that come one by one are timed better than all at once."""


class VendorWork:
    """The cases of one target that are still to be sent, and the rows of those that have ended.

    Attributes:
        tally: of the rows that stay in the file and of those that were added.
        down: whether the vendor was given up.
        failure: what its driver failed at, if that is why it was given up.
    """

    def __init__(self, target: Target, journal: Journal, sender: Sender, todo: Sequence[Key], tally: Tally) -> None:
        self.target = target
        self.journal = journal
        self.tally = tally
        self.down = False
        self.failure: str | None = None
        self._sender = sender
        self._queue = deque(todo)
        self._under_way = set[Key]()
        self._due = len(todo)
        self._ended = 0

    @property
    def left(self) -> int:
        """Cases that were not sent, or whose answer did not come to an end."""
        return len(self._queue)

    async def block(self, case_of: CaseOf, lanes: int, size: int, note: Note) -> None:
        """Send the next cases, so many at a time; ends early where the vendor is to be left alone."""
        taken = [self._queue.popleft() for _ in range(min(size, len(self._queue)))]
        block = deque(taken)
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(min(lanes, len(block))):
                    group.create_task(self._lane(block, case_of, note, number * APART))
        finally:
            left = set(block)
            self._queue.extendleft(key for key in reversed(taken) if key in left)

    async def rest(self) -> None:
        """Wait for as long as the vendor is to be left alone."""
        if pause := self._sender.pause:
            await asyncio.sleep(pause)

    async def finish(self) -> None:
        """Bring the file into order, and see that no case was lost on the way.

        Raises:
            TrialbedError: the file cannot be written, or a case was lost.
        """
        await asyncio.to_thread(self._count_old_rows)
        await self.journal.settle()
        self._check_conservation()

    async def _lane(self, block: deque[Key], case_of: CaseOf, note: Note, delay: float) -> None:
        await asyncio.sleep(delay)
        while block and not self.down:
            key = block.popleft()
            self._under_way.add(key)
            try:
                await self._sender.send(case_of(key[0]), key[1], partial(self._keep, key, note))
            except VendorDown:
                self.down = True
            except VendorPaused:
                return
            except (DriverError, UsageError) as error:
                # The other targets are none of its business.
                self.down, self.failure = True, str(error)
            finally:
                if key in self._under_way:
                    self._under_way.remove(key)
                    # It may have begun: nothing that has not goes before it.
                    block.appendleft(key)

    def _keep(self, key: Key, note: Note, row: Row) -> None:
        """A case has ended: its row is in the file before anything else can happen."""
        row = self.journal.append(key, row)
        self._under_way.remove(key)
        self._ended += 1
        self.tally.add(row)
        note(self.target, row)

    def _count_old_rows(self) -> None:
        """Cases that were not sent again keep the row of their earlier failure."""
        old = {key for key in self._queue if self.journal.holds(key)}
        for key, row in self.journal.last_rows() if old else ():
            if key in old:
                self.tally.add(row)

    def _check_conservation(self) -> None:
        if self._ended + self.left != self._due or self.journal.count != self.tally.total:
            raise TrialbedError(
                f"{self.journal.path}: cases were lost, which is an error of Trialbed and should be reported: of "
                f"{self._due} to send {self._ended} ended and {self.left} are left; the file has rows of "
                f"{self.journal.count}, the summary counts {self.tally.total}. Do not rely on these figures"
            )
