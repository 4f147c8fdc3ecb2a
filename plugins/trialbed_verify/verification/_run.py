"""A verification: sends every case to every target and writes a summary of each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from trialbed.errors import TrialbedError, UsageError
from trialbed_verify.verification._event_loop import LagMeter, Pacer
from trialbed_verify.verification._queue import TargetQueue, round_robin
from trialbed_verify.verification._retries import RetryPolicy, VendorCircuit
from trialbed_verify.verification._sender import Sender
from trialbed_verify.verification._sessions import exchange_with, new_session
from trialbed_verify.verification.cases import Case, TestSet
from trialbed_verify.verification.results import (
    Invocation,
    Journal,
    Key,
    check_files,
    existing_answers,
    summary,
    tally_rows,
    write_summary,
)
from trialbed_verify.verification.targets import Target, VerifyOptions

BLOCK = 4
"""Cases per request slot that a target is sent before the next target's turn."""

SYNC_EVERY = 1.0
"""Seconds between two syncs of the results to disk."""


class VerifyProgress(Protocol):
    """Receives the progress of a verification."""

    def begin(self, target: Target, total: int, kept: int) -> None:
        """A target begins, with this many cases in all, of which some were kept from an earlier invocation."""

    def advance(self, target: Target, row: dict[str, Any]) -> None:
        """A case is complete."""

    def down(self, target: Target, left: int, failure: str | None) -> None:
        """Sending to a target was stopped for good, because the vendor only fails or its driver failed."""


@dataclass
class Verification:
    """One invocation of ``bench verify``."""

    cases: TestSet
    targets: Sequence[Target]
    options: VerifyOptions
    progress: VerifyProgress
    _pacer: Pacer = field(default_factory=Pacer, init=False)
    _summaries: list[dict[str, Any]] = field(default_factory=list, init=False)

    async def run(self) -> list[dict[str, Any]]:
        """Send what is to be sent, and return one summary per target, in their order.

        Results and summaries are written even if the run ends early. A driver's failure ends its own target only; the
        target's summary reports it.

        Raises:
            UsageError, DataError: a results file is not usable.
            DriverError: a driver cannot prepare the first request.
            TrialbedError: a file could not be written completely, or a case was lost.
        """
        check_files(target_files(self.targets), [("the test set", self.cases.path)])
        started = datetime.now(UTC)
        try:
            async with AsyncExitStack() as stack:
                lag = await stack.enter_async_context(LagMeter())
                queues = [await self._queue(target, lag, stack) for target in self.targets]
                try:
                    await self._send(queues)
                finally:
                    problems = await self._finish(queues, started)
        except BaseExceptionGroup as group:
            raise _first(group) from group
        if problems:
            raise problems[0]
        return self._summaries

    async def _queue(self, target: Target, lag: LagMeter, stack: AsyncExitStack) -> TargetQueue:
        options = self.options
        journal = await stack.enter_async_context(Journal(target.output, secrets=target.secrets))
        existing = await asyncio.to_thread(self._existing, journal, target)
        todo = [key for key in self._keys(target) if not existing.get(key)]
        staying = existing.keys() - set(todo)
        tally = await asyncio.to_thread(tally_rows, journal, staying)
        session = await stack.enter_async_context(new_session(options.concurrency_at(target)))
        exchange = exchange_with(target, session, options)
        # Where targets wait for a slot, none holds one while its circuit breaker is open.
        breaker = VendorCircuit(blocking=len(self.targets) <= options.vendor_concurrency)
        sender = Sender(target, exchange, RetryPolicy(options.retries), breaker, lag, self._pacer)
        if todo:
            # Loads what a tokenizer needs, and finds a broken driver before anything is sent.
            await asyncio.to_thread(sender.dry_run, self.cases.case(0))
        self.progress.begin(target, len(staying) + len(todo), len(staying))
        return TargetQueue(target, journal, sender, todo, tally)

    def _existing(self, journal: Journal, target: Target) -> dict[Key, bool]:
        if self.options.fresh:
            journal.discard()
            return {}
        if target.output.stat().st_size and not self.options.incremental:
            raise UsageError(
                f"{target.output} already holds results. Use --incremental to keep its answers and send what is "
                "missing, --fresh to discard them, or --output to name another file"
            )
        return existing_answers(journal, target, self.cases)

    def _keys(self, target: Target) -> Iterator[Key]:
        return (
            (self.cases.index(number), trial)
            for trial in range(self.options.trials_of(target))
            for number in range(len(self.cases))
        )

    async def _send(self, queues: Sequence[TargetQueue]) -> None:
        syncing = asyncio.create_task(self._sync(queues))
        try:
            await self._serve(queues)
        finally:
            syncing.cancel()
            # A sync that failed fails again, and is reported, when the files are closed.
            with suppress(asyncio.CancelledError, TrialbedError):
                await syncing

    async def _serve(self, queues: Sequence[TargetQueue]) -> None:
        """Serve targets in turn, a block at a time, so that what changes over time affects all of them alike."""
        busy = [queue for queue in queues if queue.left]
        slots = min(self.options.vendor_concurrency, len(busy))
        turns = slots < len(busy)
        numbers = {self.cases.index(number): number for number in range(len(self.cases))}

        def case_of(line: int) -> Case:
            return self.cases.case(numbers[line])

        async def serve(queue: TargetQueue) -> None:
            concurrency = self.options.concurrency_at(queue.target)
            await queue.send_block(
                case_of, concurrency, BLOCK * concurrency if turns else queue.left, self.progress.advance
            )
            if queue.down:
                self.progress.down(queue.target, queue.left, queue.failure)

        await round_robin(busy, slots, serve)

    async def _sync(self, queues: Sequence[TargetQueue]) -> None:
        while True:
            await asyncio.sleep(SYNC_EVERY)
            for queue in queues:
                await queue.journal.sync()

    async def _finish(self, queues: Sequence[TargetQueue], started: datetime) -> list[TrialbedError]:
        """Sort the results files and write the summaries; returns what went wrong."""
        invocation = Invocation(self.cases, self.options, started, datetime.now(UTC))
        problems = []
        for queue in queues:
            try:
                await queue.finish()
                document = summary(queue.target, queue.tally, invocation, not_sent=queue.left, failure=queue.failure)
                self._summaries.append(document)
                await asyncio.to_thread(write_summary, queue.target.summary, document)
            except TrialbedError as error:
                problems.append(error)
            except OSError as error:
                problems.append(TrialbedError(f"{queue.target.summary}: cannot be written: {error.strerror}"))
        return problems


def target_files(targets: Sequence[Target]) -> Iterator[tuple[str, Any]]:
    """The files written for each target: what each is for, and its path."""
    for target in targets:
        yield f"the results of {target.name}", target.output
        yield f"the summary of {target.name}", target.summary


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The most informative error: the first of Trialbed's own, otherwise the first."""
    leaves = list(_leaves(group))
    return next((error for error in leaves if isinstance(error, TrialbedError)), leaves[0])


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
