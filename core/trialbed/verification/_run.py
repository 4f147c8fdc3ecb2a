"""A verification: every case to every target, and a summary of each."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import aiohttp

from trialbed.errors import UsageError
from trialbed.verification._cases import TestSet
from trialbed.verification._clerk import Clerk
from trialbed.verification._desk import Desk
from trialbed.verification._exchange import Exchange, trace
from trialbed.verification._journal import Journal, Key
from trialbed.verification._lag import LagMeter
from trialbed.verification._options import VerifyOptions
from trialbed.verification._resumption import kept_answers, tally_of
from trialbed.verification._retries import Breaker, RetryPolicy, VendorDown
from trialbed.verification._summaries import summary, write_summary
from trialbed.verification._tally import Tally
from trialbed.verification._targets import Target

BLOCK = 4
"""Cases per lane that a target is sent before the next one's turn, where targets take turns."""

SYNC_EVERY = 1.0
"""Seconds between two syncs of the results to disk."""


class VerifyProgress(Protocol):
    """Is told of every step."""

    def begin(self, target: Target, total: int, kept: int) -> None:
        """A target begins: so many cases in all, so many of them kept from before."""

    def advance(self, target: Target, row: dict[str, Any]) -> None:
        """A case has ended."""

    def down(self, target: Target, left: int) -> None:
        """A vendor is given up; so many cases are not sent."""


class VendorWork:
    """What is to do for one target, and what was done."""

    def __init__(self, target: Target, journal: Journal, clerk: Clerk, todo: Sequence[Key], tally: Tally) -> None:
        self.target = target
        self.journal = journal
        self.tally = tally
        self.down = False
        self._clerk = clerk
        self._queue = deque(todo)

    @property
    def left(self) -> int:
        """Cases that were not sent."""
        return len(self._queue)

    async def block(self, cases: TestSet, numbers: dict[int, int], lanes: int, size: int, note: Any) -> None:
        """Send the next cases, so many at a time."""
        block = deque(self._queue.popleft() for _ in range(min(size, len(self._queue))))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(lanes, len(block))):
                    group.create_task(self._lane(block, cases, numbers, note))
        finally:
            self._queue.extendleft(reversed(block))

    async def _lane(self, block: deque[Key], cases: TestSet, numbers: dict[int, int], note: Any) -> None:
        while block and not self.down:
            key = block.popleft()
            try:
                row = await self._clerk.row(cases.case(numbers[key[0]]), key[1])
            except VendorDown:
                block.append(key)
                self.down = True
                return
            except BaseException:
                block.append(key)
                raise
            self.journal.append(key, row)
            self.tally.add(row)
            note(self.target, row)


@dataclass
class Verification:
    """One invocation."""

    cases: TestSet
    targets: Sequence[Target]
    options: VerifyOptions
    progress: VerifyProgress

    async def run(self) -> list[dict[str, Any]]:
        """Send what is to be sent; returns one summary per target, in their order.

        Raises:
            UsageError, DataError: a results file is not usable.
        """
        started = datetime.now(UTC)
        self._desk = Desk()
        self._numbers = {self.cases.index(number): number for number in range(len(self.cases))}
        async with AsyncExitStack() as stack:
            lag = await stack.enter_async_context(LagMeter())
            works = [await self._work(target, lag, stack) for target in self.targets]
            stack.push_async_callback(self._settle, works, started)
            syncing = asyncio.create_task(self._sync(works))
            stack.callback(syncing.cancel)
            await self._rounds(works)
        return self._summaries

    async def _work(self, target: Target, lag: LagMeter, stack: AsyncExitStack) -> VendorWork:
        options = self.options
        journal = await stack.enter_async_context(Journal(target.output, secrets=(target.api_key,)))
        kept = await asyncio.to_thread(self._kept, journal, target)
        done = {key for key, answered in kept.items() if answered}
        connector = aiohttp.TCPConnector(limit=options.request_concurrency, limit_per_host=0)
        session = await stack.enter_async_context(
            aiohttp.ClientSession(
                connector=connector,
                trace_configs=[trace()],
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=True,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        )
        exchange = Exchange(session, target.url, target.vendor.headers(target.api_key), options.timeout)
        clerk = Clerk(target, exchange, RetryPolicy(options.retries), Breaker(), lag, self._desk)
        todo = [key for key in self._keys() if key not in done]
        tally = await asyncio.to_thread(tally_of, journal, done)
        self.progress.begin(target, len(self.cases) * options.trials, len(done))
        return VendorWork(target, journal, clerk, todo, tally)

    def _kept(self, journal: Journal, target: Target) -> dict[Key, bool]:
        if self.options.fresh:
            journal.discard()
            return {}
        if target.output.stat().st_size and not self.options.incremental:
            raise UsageError(
                f"{target.output} holds results; --incremental keeps its answers and sends what is missing, "
                "--fresh discards them, --output names another file"
            )
        return kept_answers(journal, target, self.cases)

    def _keys(self) -> Iterator[Key]:
        return (
            (self.cases.index(number), trial)
            for trial in range(self.options.trials)
            for number in range(len(self.cases))
        )

    async def _rounds(self, works: Sequence[VendorWork]) -> None:
        """Targets take turns, a block each, so that what changes with time changes for all of them."""
        waiting = deque(work for work in works if work.left)
        seats = min(self.options.vendor_concurrency, len(waiting))
        lanes = self.options.request_concurrency
        size = len(self.cases) * self.options.trials if seats == len(waiting) else BLOCK * lanes
        async with asyncio.TaskGroup() as group:
            for _ in range(seats):
                group.create_task(self._seat(waiting, lanes, size))

    async def _seat(self, waiting: deque[VendorWork], lanes: int, size: int) -> None:
        while waiting:
            work = waiting.popleft()
            await work.block(self.cases, self._numbers, lanes, size, self.progress.advance)
            if work.down:
                self.progress.down(work.target, work.left)
            elif work.left:
                waiting.append(work)

    async def _sync(self, works: Sequence[VendorWork]) -> None:
        while True:
            await asyncio.sleep(SYNC_EVERY)
            for work in works:
                await work.journal.sync()

    async def _settle(self, works: Sequence[VendorWork], started: datetime) -> None:
        """Bring the files into order, whatever ended the invocation."""
        self._summaries = []
        for work in works:
            await work.journal.settle()
            document = summary(
                work.target,
                self.cases,
                self.options,
                work.tally,
                started=started,
                finished=datetime.now(UTC),
                not_sent=work.left,
            )
            await asyncio.to_thread(write_summary, work.target.summary, document)
            self._summaries.append(document)
