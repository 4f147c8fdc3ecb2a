"""A verification: every case to every target, and a summary of each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from trialbed.errors import TrialbedError, UsageError
from trialbed_verify.verification._lag import LagMeter
from trialbed_verify.verification._pacer import Pacer
from trialbed_verify.verification._retries import Breaker, RetryPolicy
from trialbed_verify.verification._sender import Sender
from trialbed_verify.verification._sessions import exchange_with, new_session
from trialbed_verify.verification._turns import take_turns
from trialbed_verify.verification._work import VendorWork
from trialbed_verify.verification.cases import Case, TestSet
from trialbed_verify.verification.results import (
    Invocation,
    Journal,
    Key,
    check_files,
    kept_answers,
    summary,
    tally_of,
    write_summary,
)
from trialbed_verify.verification.targets import Target, VerifyOptions

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

    def down(self, target: Target, left: int, failure: str | None) -> None:
        """A vendor is given up, so many cases are not sent: it only fails, or its driver did."""


@dataclass
class Verification:
    """One invocation."""

    cases: TestSet
    targets: Sequence[Target]
    options: VerifyOptions
    progress: VerifyProgress
    _pacer: Pacer = field(default_factory=Pacer, init=False)
    _summaries: list[dict[str, Any]] = field(default_factory=list, init=False)

    async def run(self) -> list[dict[str, Any]]:
        """Send what is to be sent; returns one summary per target, in their order.

        Whatever ends it early, the results files and the summaries hold what there is.

        A target whose driver fails is given up; its summary says so.

        Raises:
            UsageError, DataError: a results file is not usable.
            DriverError: a driver cannot prepare even the first request.
            TrialbedError: a file could not be written to its end, or a case was lost.
        """
        check_files(target_files(self.targets), [("the test set", self.cases.path)])
        started = datetime.now(UTC)
        try:
            async with AsyncExitStack() as stack:
                lag = await stack.enter_async_context(LagMeter())
                works = [await self._work(target, lag, stack) for target in self.targets]
                try:
                    await self._send(works)
                finally:
                    problems = await self._finish(works, started)
        except BaseExceptionGroup as group:
            raise _first(group) from group
        if problems:
            raise problems[0]
        return self._summaries

    async def _work(self, target: Target, lag: LagMeter, stack: AsyncExitStack) -> VendorWork:
        options = self.options
        journal = await stack.enter_async_context(Journal(target.output, secrets=target.secrets))
        kept = await asyncio.to_thread(self._kept, journal, target)
        todo = [key for key in self._keys() if not kept.get(key)]
        staying = kept.keys() - set(todo)
        tally = await asyncio.to_thread(tally_of, journal, staying)
        session = await stack.enter_async_context(new_session(options))
        exchange = exchange_with(target, session, options)
        # Where others wait for a place, nobody holds one only to wait.
        breaker = Breaker(waits=len(self.targets) <= options.vendor_concurrency)
        sender = Sender(target, exchange, RetryPolicy(options.retries), breaker, lag, self._pacer)
        if todo:
            # Loads what a tokenizer needs, and shows before anything is sent whether the drivers can do their work.
            await asyncio.to_thread(sender.rehearse, self.cases.case(0))
        self.progress.begin(target, len(staying) + len(todo), len(staying))
        return VendorWork(target, journal, sender, todo, tally)

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

    async def _send(self, works: Sequence[VendorWork]) -> None:
        syncing = asyncio.create_task(self._sync(works))
        try:
            await self._rounds(works)
        finally:
            syncing.cancel()
            # What it failed at fails again, and is told, when the files are closed.
            with suppress(asyncio.CancelledError, TrialbedError):
                await syncing

    async def _rounds(self, works: Sequence[VendorWork]) -> None:
        """Targets take turns, a block each, so that what changes with time changes for all of them."""
        busy = [work for work in works if work.left]
        places = min(self.options.vendor_concurrency, len(busy))
        whole = len(self.cases) * self.options.trials
        size = whole if places == len(busy) else BLOCK * self.options.request_concurrency
        numbers = {self.cases.index(number): number for number in range(len(self.cases))}

        def case_of(line: int) -> Case:
            return self.cases.case(numbers[line])

        async def turn(work: VendorWork) -> None:
            await work.block(case_of, self.options.request_concurrency, size, self.progress.advance)
            if work.down:
                self.progress.down(work.target, work.left, work.failure)

        await take_turns(busy, places, turn)

    async def _sync(self, works: Sequence[VendorWork]) -> None:
        while True:
            await asyncio.sleep(SYNC_EVERY)
            for work in works:
                await work.journal.sync()

    async def _finish(self, works: Sequence[VendorWork], started: datetime) -> list[TrialbedError]:
        """Bring the files into order and write the summaries; what could not be done."""
        invocation = Invocation(self.cases, self.options, started, datetime.now(UTC))
        problems = []
        for work in works:
            try:
                await work.finish()
                document = summary(work.target, work.tally, invocation, not_sent=work.left, failure=work.failure)
                self._summaries.append(document)
                await asyncio.to_thread(write_summary, work.target.summary, document)
            except TrialbedError as error:
                problems.append(error)
            except OSError as error:
                problems.append(TrialbedError(f"{work.target.summary}: cannot be written: {error.strerror}"))
        return problems


def target_files(targets: Sequence[Target]) -> Iterator[tuple[str, Any]]:
    """What is written for each target, and where."""
    for target in targets:
        yield f"the results of {target.name}", target.output
        yield f"the summary of {target.name}", target.summary


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that says most: one of ours, else the first."""
    leaves = list(_leaves(group))
    return next((error for error in leaves if isinstance(error, TrialbedError)), leaves[0])


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
