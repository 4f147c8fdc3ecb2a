"""A verification: sends every case to every target, and keeps the answers in a run of the store."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from trialbed.errors import TrialbedError, UsageError
from trialbed.files import make_private_folder
from trialbed.listeners import Listeners
from trialbed.plugins import installed_listeners
from trialbed.records import Run, RunStatus, TrialResult
from trialbed.store import Commits, Store, open_store
from trialbed_verify.summary import summary, write_summary
from trialbed_verify.table import Answers
from trialbed_verify.verification._event_loop import LagMeter
from trialbed_verify.verification._queue import KeptCase, Key, TargetQueue, round_robin
from trialbed_verify.verification._retries import VendorCircuit, retry_waits
from trialbed_verify.verification._sender import Sender
from trialbed_verify.verification._sessions import exchange_with, new_session
from trialbed_verify.verification._stored_run import VerificationRun, open_run
from trialbed_verify.verification.cases import TestSet
from trialbed_verify.verification.row import Row, RowRedaction, trial_result, write_rows
from trialbed_verify.verification.targets import Target, VerifyOptions

BLOCK = 4
"""Cases per request slot that a target is sent before the next target's turn."""

GATHERING = 0.25
"""Seconds in which answers are gathered to be committed together: those that a crash may cost."""

WAITING = 128
"""Answers that may wait to be committed before further requests wait for them; a fast vendor gives many in a moment."""


class VerifyProgress(Protocol):
    """Receives the progress of a verification."""

    def start(self, run: Run, trials: Mapping[Target, int], cases: TestSet) -> None:
        """The run of the verification is known, and how often every case is sent to each of its targets."""

    def begin(self, target: Target, total: int, kept: int) -> None:
        """A target begins, with this many cases in all, of which some were kept from an earlier session."""

    def advance(self, target: Target, result: TrialResult) -> None:
        """A case is complete and committed."""

    def down(self, target: Target, left: int, failure: str | None) -> None:
        """Sending to a target was stopped for good, because the vendor only fails or its driver failed."""


@dataclass
class Verification:
    """One invocation of ``bench verify``.

    Attributes:
        run_id: of the run in the store, once it is known; None again if the run holds nothing and was discarded.
        replaced: the results files that were those of another run, with its id.
    """

    cases: TestSet
    targets: Sequence[Target]
    options: VerifyOptions
    progress: VerifyProgress
    run_id: str | None = None
    replaced: dict[Path, str] = field(default_factory=dict, init=False)
    _turns: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _listeners: Listeners = field(default_factory=installed_listeners, init=False)
    _summaries: list[dict[str, Any]] = field(default_factory=list, init=False)

    async def run(self) -> list[dict[str, Any]]:
        """Send the cases that have no answer yet, and return one summary per target, in their order.

        Results and summaries are written even if the run ends early. A driver's failure ends its own target only; the
        target's summary reports it.

        Raises:
            UsageError, DataError: a results file or the store is not usable.
            DriverError: a driver cannot prepare the first request.
            TrialbedError: a file could not be written completely, or a case was lost.
        """
        check_files(target_files(self.targets), [("the test set", self.cases.path)])
        with await asyncio.to_thread(Store.open, self.options.store) as store:
            async with open_run(store, self.cases, self.targets, self.options) as record:
                self.run_id = record.run.run_id
                problems = await self._keep_answers(record)
                await asyncio.to_thread(self._listeners.end)
                if self.run_id is not None:
                    await asyncio.to_thread(self._notify_finished, record.run.run_id)
        if problems:
            raise problems[0]
        return self._summaries

    async def _keep_answers(self, record: VerificationRun) -> list[TrialbedError]:
        """Send the cases that have no answer yet, and keep the answers; return the errors of writing them."""
        named = dict(zip(record.run.config.frameworks, self.targets, strict=True))

        def note_committed(result: TrialResult) -> None:
            self._listeners.notify("trial_finished", run=record.run, result=result)
            self.progress.advance(named[result.key.framework], result)

        commits = Commits(
            record.store, record.run.run_id, note_committed, gathering=GATHERING, most=WAITING, masked=True
        )
        queues: list[TargetQueue] = []
        status: RunStatus = "interrupted"
        try:
            async with AsyncExitStack() as stack:
                lag = LagMeter()
                stack.callback(asyncio.create_task(lag.watch()).cancel)
                stored = await asyncio.to_thread(record.stored_cases)
                trials = {target: self.options.trials_of(target) for target in self.targets}
                self.progress.start(record.run, trials, self.cases)
                queues = [
                    await self._queue(record, commits, label, target, stored[label], lag, stack)
                    for label, target in named.items()
                ]
                if any(queue.left for queue in queues):
                    self._listeners.notify("run_started", run=record.run)
                async with commits.open():
                    await self._serve(queues)
                status = "incomplete" if any(queue.is_incomplete for queue in queues) else "finished"
        finally:
            problems = await self._finish(record, queues, status)
        return problems

    async def _queue(
        self,
        record: VerificationRun,
        commits: Commits,
        label: str,
        target: Target,
        stored: Mapping[Key, KeptCase],
        lag: LagMeter,
        stack: AsyncExitStack,
    ) -> TargetQueue:
        options = self.options
        keys = ((line, trial) for trial in range(options.trials_of(target)) for line in self.cases.indices)
        todo = deque(key for key in keys if not (key in stored and stored[key].is_answered))
        session = await stack.enter_async_context(new_session(options.concurrency_at(target)))
        exchange = exchange_with(target, session, options)
        # Where targets wait for a slot, none holds one while its circuit breaker is open.
        breaker = VendorCircuit(blocking=len(self.targets) <= options.vendor_concurrency)
        sender = Sender(target, exchange, retry_waits(options.retries), breaker, lag, self._turns)
        if todo:
            # Loads the files of a tokenizer, and finds a broken driver before anything is sent.
            await asyncio.to_thread(sender.prepare, next(iter(self.cases)))
        redaction, name = RowRedaction(target.secrets), record.began.isoformat()

        def keep(key: Key, row: Row) -> None:
            attempt = stored[key].attempt + 1 if key in stored else 0
            commits.put(trial_result(label, redaction.row(row), attempt=attempt, session=name))

        staying = len(stored.keys() - set(todo))
        self.progress.begin(target, staying + len(todo), staying)
        return TargetQueue(label, target, sender, todo, stored, keep, commits.room)

    async def _serve(self, queues: Sequence[TargetQueue]) -> None:
        """Serve targets in turn, a block at a time, so that what changes over time affects all of them alike."""
        busy = [queue for queue in queues if queue.left]
        slots = min(self.options.vendor_concurrency, len(busy))
        turns = slots < len(busy)

        async def serve(queue: TargetQueue) -> None:
            concurrency = self.options.concurrency_at(queue.target)
            await queue.send_block(self.cases, concurrency, BLOCK * concurrency if turns else queue.left)
            if queue.down:
                self.progress.down(queue.target, queue.left, queue.failure)

        await round_robin(busy, slots, serve)

    async def _finish(
        self, record: VerificationRun, queues: Sequence[TargetQueue], status: RunStatus
    ) -> list[TrialbedError]:
        """Write results and summaries, and note how the run ended; return the errors."""
        problems = []
        for queue in queues:
            try:
                await asyncio.to_thread(self._write, record, queue)
            except TrialbedError as error:
                problems.append(error)
        if status == "finished" and not any(found["success_count"] for found in self._summaries):
            status = "incomplete"
        if record.is_new and not problems and not any(found["case_count"] for found in self._summaries):
            self.run_id = None
        await asyncio.to_thread(record.end, status if self.run_id else None)
        return problems

    def _notify_finished(self, run_id: str) -> None:
        """Notify plugins that the run has ended; its record has the figures of the endpoints."""
        if not self._listeners.hears("run_finished"):
            return
        from trialbed.report import Report

        with open_store(self.options.store) as reader:
            stored = reader.run(run_id)
            report = Report(stored.record, (), stored.table(), {}, {}, stored.results_at, lambda: None)
            self._listeners.notify("run_finished", run=report.run, report=report)

    def _write(self, record: VerificationRun, queue: TargetQueue) -> None:
        """Write the results and the summary of a target.

        Raises:
            TrialbedError: a file cannot be written, or a case was lost.
        """
        target, label = queue.target, queue.label
        ended = {"began": record.began, "ended": datetime.now(UTC), "not_sent": queue.left, "failure": queue.failure}
        info = RowRedaction(target.secrets).record(record.endpoints[label].model_copy(update=ended))

        def note(digest: str) -> None:
            # Noted first: a file that is there is one that the run has.
            record.note(info.model_copy(update={"exports": (*dict.fromkeys((*info.exports, digest)),)}))

        try:
            answers = self._write_rows(record, queue, note)
            queue.check_counts(len(answers.rows) if answers else 0)
            found = summary(info, answers)
            self._summaries.append(found)
            exports = record.endpoints[label].exports
            success = found["success_rate"]
            record.note(info.model_copy(update={"success_rate": success and success["value"], "exports": exports}))
            write_summary(target.summary, found)
        except OSError as error:
            raise TrialbedError(
                f"{error.filename or target.output}: cannot be written: {error.strerror}. The answers are kept in "
                f"{self.options.store}; free some disk space, then run the same command again"
            ) from error

    def _write_rows(self, record: VerificationRun, queue: TargetQueue, note: Callable[[str], None]) -> Answers | None:
        output, run_id = queue.target.output, record.run.run_id
        if not queue.stored and not queue.completed and output.exists() and output.stat().st_size:
            return None  # a file with answers of an earlier run is worth more than an empty one
        if record.owners.get(output, run_id) not in ("", run_id):
            self.replaced[output] = record.owners[output]
        with open_store(self.options.store) as reader:
            return write_rows(reader.run(run_id), queue.label, output, note)


def target_files(targets: Sequence[Target]) -> Iterator[tuple[str, Any]]:
    """Return the purpose and the path of each file that is written for targets."""
    for target in targets:
        yield f"the results of {target.name}", target.output
        yield f"the summary of {target.name}", target.summary


def check_files(written: Iterable[tuple[str, Path]], read: Iterable[tuple[str, Path]] = ()) -> None:
    """Check that every file can be written and that no file is named twice; each has its purpose in words.

    Raises:
        UsageError: a file cannot be written, or is named twice.
    """
    seen = {Path(os.path.realpath(path)): what for what, path in read}
    for what, path in written:
        real = Path(os.path.realpath(path))
        if real in seen:
            raise UsageError(f"{path}: named both for {what} and for {seen[real]}; give each its own file")
        seen[real] = what
        _check_writable(what, path)


def _check_writable(what: str, path: Path) -> None:
    try:
        make_private_folder(path.parent)
        if path.exists() and not path.is_file():
            raise UsageError(f"{path}: not a regular file; name another one for {what}")
        with tempfile.NamedTemporaryFile(dir=os.path.realpath(path.parent), prefix=f".{path.name}."):
            pass
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; name another file for {what}") from error
