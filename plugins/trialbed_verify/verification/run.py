"""Find or begin a verification's run in the store, send its cases, and write results and summaries."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import platform
import tempfile
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trialbed.drivers import driver_info
from trialbed.engine import frozen_heap
from trialbed.errors import TrialbedError, UsageError
from trialbed.files import make_private_folder
from trialbed.installed import own_version
from trialbed.listeners import Listeners
from trialbed.plugins import installed_listeners
from trialbed.records import EndpointInfo, Run, RunCell, RunConfig, RunStatus, TrialResult
from trialbed.store import Commits, RunChanges, Store, StoredRun, hold_run, open_store, record_run
from trialbed.wire.redaction import redaction_of
from trialbed_verify.rows import FileRows
from trialbed_verify.summary import summary, write_summary
from trialbed_verify.verification.cases import TestSet
from trialbed_verify.verification.exchange import Exchange, new_session
from trialbed_verify.verification.row import Row, RowRedaction, trial_result, write_rows
from trialbed_verify.verification.sending import (
    KeptCase,
    Key,
    LagMeter,
    TargetQueue,
    VendorCircuit,
    retry_waits,
    send_all,
)
from trialbed_verify.verification.targets import Target, VerifyOptions

if TYPE_CHECKING:
    from trialbed_verify.verification.progress import EndpointProgress

WAITING = 128
"""Answers that may wait to be committed before further requests wait for them; a fast vendor gives many in a moment."""


@dataclass
class Verification:
    """One invocation of ``bench verify``.

    Attributes:
        run_id: of the run in the store, once known; None again if the run was empty and was discarded.
        replaced: results files that belonged to another run, with its id.
    """

    cases: TestSet
    targets: Sequence[Target]
    options: VerifyOptions
    progress: EndpointProgress
    run_id: str | None = None
    replaced: dict[Path, str] = field(default_factory=dict, init=False)
    _began: datetime = field(default_factory=lambda: datetime.now(UTC), init=False)
    _listeners: Listeners = field(default_factory=installed_listeners, init=False)
    _summaries: list[dict[str, Any]] = field(default_factory=list, init=False)

    async def run(self) -> list[dict[str, Any]]:
        """Send the cases that have no answer yet, and return one summary per target, in their order.

        Results and summaries are written even if the run ends early. A driver's failure ends its own target only; the
        target's summary reports it.
        """
        check_files(self.targets, self.cases.path)
        self._named = dict(zip(endpoint_labels(self.targets), self.targets, strict=True))
        endpoints = [endpoint_info(target, label, self.cases, self.options) for label, target in self._named.items()]
        digest = _digest(self.cases, endpoints)
        with frozen_heap(), await asyncio.to_thread(Store.open, self.options.store) as store:

            def find() -> Run | None:
                return _last(store, self.cases, endpoints) if self.options.incremental else store.unfinished_run(digest)

            async with hold_run(store, digest, find) as found:
                kept = self._record(store, found, endpoints, digest)
                problems = await self._send(store, is_new=kept is None)
                await asyncio.to_thread(self._listeners.end)
                await asyncio.to_thread(self._notify_finished)
        if problems:
            raise problems[0]
        return self._summaries

    def _record(self, store: Store, found: Run | None, endpoints: Sequence[EndpointInfo], digest: str) -> Run | None:
        """Record that the run begins or goes on; return the run that it continues."""
        self._owners = _owners_of_files(store, self.targets, fresh=self.options.fresh)
        if found is not None and self.options.fresh:
            store.discard_run(found.run_id)
            found = None
        known = {one.label: one for one in found.endpoints} if found else {}
        merged = tuple(
            one.model_copy(update={"trials": max(one.trials, old.trials), "exports": old.exports})
            if (old := known.get(one.label))
            else one
            for one in endpoints
        )
        config, own = _config(self.cases, merged), RunChanges(endpoints=merged)
        options = self.options
        self._run = record_run(store, found, config, digest, tags=options.tags, note=options.note, own=own)
        self._endpoints = {one.label: one for one in self._run.endpoints}
        self.run_id = self._run.run_id
        return found

    async def _send(self, store: Store, *, is_new: bool) -> list[TrialbedError]:
        """Send the cases that have no answer yet, and write what there is; return the errors of writing it."""

        def note_committed(result: TrialResult) -> None:
            self._listeners.notify("trial_finished", run=self._run, result=result)
            self.progress.advance(self._named[result.key.framework], result)

        commits = Commits(store, self._run.run_id, note_committed, most=WAITING, masked=True)
        queues: list[TargetQueue] = []
        status: RunStatus = "interrupted"
        try:
            async with AsyncExitStack() as stack:
                lag, turns = LagMeter(), asyncio.Lock()
                stack.callback(asyncio.create_task(lag.watch()).cancel)
                stored = await asyncio.to_thread(self._stored_cases, store)
                trials = {target: self.options.trials_of(target) for target in self.targets}
                self.progress.start(self._run, trials, self.cases)
                for label, target in self._named.items():
                    queue = await self._queue(label, target, stored[label], commits, lag, turns, stack)
                    queues.append(queue)
                if any(queue.todo for queue in queues):
                    self._listeners.notify("run_started", run=self._run)
                async with commits.open():
                    await send_all(queues, self.options.vendor_concurrency, self.progress.down)
            # A case is missing if no attempt of it is stored.
            is_whole = all(queue.stored.keys() >= set(queue.todo) for queue in queues)
            status = "finished" if is_whole else "incomplete"
        finally:
            problems = await asyncio.to_thread(self._finish, store, queues, status, is_new)
        return problems

    def _stored_cases(self, store: Store) -> dict[str, dict[Key, KeptCase]]:
        """Return the last attempt of each case that the store has, by the endpoint's label."""
        found: dict[str, dict[Key, KeptCase]] = {label: {} for label in self._endpoints}
        for one in store.each_attempt_summary(self._run.run_id):
            kept = KeptCase(one.attempt, one.status == "answered")
            found[one.key.framework][int(one.key.query_id), one.key.repeat] = kept
        return found

    async def _queue(
        self,
        label: str,
        target: Target,
        stored: Mapping[Key, KeptCase],
        commits: Commits,
        lag: LagMeter,
        turns: asyncio.Lock,
        stack: AsyncExitStack,
    ) -> TargetQueue:
        options, concurrency = self.options, self.options.concurrency_at(target)
        keys = ((line, trial) for trial in range(options.trials_of(target)) for line in self.cases.indices)
        todo = deque(key for key in keys if not (key in stored and stored[key].is_answered))
        exchange = Exchange(target, await stack.enter_async_context(new_session(concurrency)), options.timeout)
        # If targets wait for a slot, no target keeps one while its circuit breaker is open.
        breaker = VendorCircuit(blocking=len(self.targets) <= options.vendor_concurrency)
        redaction, session = RowRedaction(target.secrets), self._began.isoformat()

        def keep(key: Key, row: Row) -> None:
            attempt = stored[key].attempt + 1 if key in stored else 0
            commits.put(trial_result(label, row, redaction, attempt=attempt, session=session))

        own = (label, target, self.cases, todo, stored, exchange, concurrency)
        queue = TargetQueue(*own, retry_waits(options.retries), breaker, lag, turns, keep, commits.room)
        if todo:
            # Loads the files of a tokenizer, and finds a broken driver before anything is sent.
            await asyncio.to_thread(queue.prepare, next(iter(self.cases)))
        staying = len(stored.keys() - set(todo))
        self.progress.begin(target, staying + len(todo), staying)
        return queue

    def _finish(
        self, store: Store, queues: Sequence[TargetQueue], status: RunStatus, is_new: bool
    ) -> list[TrialbedError]:
        """Write results and summaries, and note how the run ended; return the errors."""
        problems = []
        for queue in queues:
            try:
                self._write(store, queue)
            except TrialbedError as error:
                problems.append(error)
        if status == "finished" and not any(found["success_count"] for found in self._summaries):
            status = "incomplete"
        if is_new and not problems and not any(found["case_count"] for found in self._summaries):
            store.discard_run(self._run.run_id)
            self.run_id = None
        else:
            seconds = (datetime.now(UTC) - self._began).total_seconds()
            store.update_run(self._run.run_id, status=status, overall_time=self._run.overall_time + seconds)
        return problems

    def _write(self, store: Store, queue: TargetQueue) -> None:
        target, label, output, run_id = queue.target, queue.label, queue.target.output, self._run.run_id

        def note(**changes: Any) -> None:
            info = self._endpoints[label].model_copy(update=changes)
            self._endpoints[label] = redaction_of(target.secrets).record(info)
            store.update_run(run_id, endpoints=tuple(self._endpoints.values()))

        def note_export(digest: str) -> None:
            # Recorded first: every existing file then belongs to the run.
            note(exports=(*dict.fromkeys((*self._endpoints[label].exports, digest)),))

        note(began=self._began, ended=datetime.now(UTC), not_sent=len(queue.todo), failure=queue.failure)
        known, answers = queue.stored.keys() | queue.completed, None
        try:
            # A file with answers of an earlier run is worth more than an empty one.
            if known or not _holds_something(output):
                if self._owners.get(output, run_id) not in ("", run_id):
                    self.replaced[output] = self._owners[output]
                answers = write_rows(StoredRun(store, self._run), label, output, note_export)
            if len(known) != (written := len(answers.rows) if answers else 0):
                raise TrialbedError(
                    f"{target.name}: cases were lost. This is a bug in Trialbed; please report it. {len(known)} cases "
                    f"were stored or completed, and {written} are stored now. Do not rely on these figures"
                )
            found = summary(self._endpoints[label], answers)
            self._summaries.append(found)
            note(success_rate=(rate := found["success_rate"]) and rate["value"])
            write_summary(target.summary, found)
        except OSError as error:
            raise TrialbedError(
                f"{error.filename or output}: cannot be written: {error.strerror}. The answers are kept in "
                f"{self.options.store}; free some disk space, then run the same command again"
            ) from error

    def _notify_finished(self) -> None:
        """Notify plugins that the run has ended; its record has the figures of the endpoints."""
        if self.run_id is None or not self._listeners.hears("run_finished"):
            return
        from trialbed.report import Report

        with open_store(self.options.store) as reader:
            stored = reader.run(self.run_id)
            report = Report(stored.record, (), stored.table(), {}, {}, stored.results_at, lambda: None)
            self._listeners.notify("run_finished", run=report.run, report=report)


def endpoint_info(target: Target, label: str, cases: TestSet, options: VerifyOptions) -> EndpointInfo:
    """Describe a target, its test set, configuration, drivers and options, without secrets, before anything is sent."""
    drivers = {"vendor": ("vendors", target.driver_name), "model_adapter": ("model_adapters", target.adapter_name)}
    provenance: dict[str, Any] = {
        "trialbed_version": own_version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "test_set": cases.path.name,
        "test_set_digest": cases.digest,
        "test_set_cases": len(cases),
        "bad_lines": [{"line": line, "reason": reason} for line, reason in cases.bad_lines],
        "configuration": target.configuration(),
        "configuration_digest": target.digest(),
        "drivers": {what: _driver(*named) for what, named in drivers.items()},
        "proxy": str(target.proxy.with_user(None)) if target.proxy else None,
        "trials": options.trials_of(target),
        "request_concurrency": options.concurrency_at(target),
        "vendor_concurrency": options.vendor_concurrency,
        "prices": dict(target.prices) or None,
        "timeout_s": options.timeout,
        "retries": options.retries,
    }
    info = EndpointInfo(
        label=label,
        model=target.settings.model,
        vendor=target.name,
        is_baseline=target.is_baseline,
        trials=provenance["trials"],
        configuration=provenance["configuration_digest"],
        provenance=provenance,
        prices=dict(target.prices),
        results=str(target.output.resolve()),
    )
    return redaction_of(target.secrets).record(info)


def _driver(kind: str, name: str) -> str | None:
    found = driver_info(kind, name) if name else None
    return found and f"{name} ({found.distribution} {found.version})"


def endpoint_labels(targets: Sequence[Target]) -> list[str]:
    """Return the names of endpoints in their run, which are the vendor's, with the model if there are several."""
    several = len({target.settings.model for target in targets}) > 1
    return [f"{target.settings.model}@{target.name}" if several else target.name for target in targets]


def _config(cases: TestSet, endpoints: Sequence[EndpointInfo]) -> RunConfig:
    settings = {"dataset": str(cases.path), "repeat": max(one.trials for one in endpoints), "judge": "", "selector": ""}
    return RunConfig(
        **settings,
        cells=tuple(RunCell(label=one.label, framework=one.label, model=one.model) for one in endpoints),
        adapter_versions={},
        test_set=cases.path.name,
        dataset_digest=cases.digest,
        query_ids=tuple(cases.indices),
        trialbed_version=own_version(),
    )


def _digest(cases: TestSet, endpoints: Sequence[EndpointInfo]) -> str:
    """Return the SHA-256 of a command's subjects; the command continues the unfinished run with the same digest."""
    subjects = [[one.label, one.configuration, one.trials, one.results] for one in endpoints]
    text = json.dumps(["endpoints", cases.digest, subjects], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _last(store: Store, cases: TestSet, endpoints: Sequence[EndpointInfo]) -> Run | None:
    """Return the last run of this test set and these endpoints with the same result files."""
    wanted = {(one.label, one.configuration, one.results) for one in endpoints}
    for run in store.runs(limit=None):
        found = {(one.label, one.configuration, one.results) for one in run.endpoints}
        if run.config.dataset_digest == cases.digest and found and found <= wanted:
            return run
    return None


def _owners_of_files(store: Store, targets: Sequence[Target], *, fresh: bool) -> dict[Path, str]:
    """Return the run of each existing results file; empty if no stored run has it."""
    there = [target.output for target in targets if _holds_something(target.output)]
    # The latest run that has a file comes last.
    runs = reversed([*store.runs(limit=None)] if there else [])
    owners = {digest: run.run_id for run in runs for endpoint in run.endpoints for digest in endpoint.exports}
    found = {path: owners.get(FileRows(path).digest(), "") for path in there}
    for path in [] if fresh else [path for path, run_id in found.items() if not run_id]:
        raise UsageError(
            f"{path} holds results that the store does not have; name another file with --output (with --config: "
            "another folder with --output-dir), or replace it with --fresh"
        )
    return found


def _holds_something(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def check_files(targets: Iterable[Target], test_set: Path) -> None:
    """Check that every file of the targets can be written, and that no file is named twice."""
    seen = {Path(os.path.realpath(test_set)): "the test set"}
    for target in targets:
        for what, path in (("results", target.output), ("summary", target.summary)):
            named, real = f"the {what} of {target.name}", Path(os.path.realpath(path))
            if real in seen:
                raise UsageError(f"{path}: named both for {named} and for {seen[real]}; give each its own file")
            seen[real] = named
            try:
                make_private_folder(path.parent)
                if path.exists() and not path.is_file():
                    raise UsageError(f"{path}: not a regular file; name another one for {named}")
                with tempfile.NamedTemporaryFile(dir=real.parent, prefix=f".{path.name}."):
                    pass
            except OSError as error:
                text = f"{path}: cannot be written: {error.strerror}; name another file for {named}"
                raise UsageError(text) from error
