"""One session of a run: from its first or resumed trial to its end or interruption."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar, cast

from trialbed.contracts import Executor
from trialbed.drivers import load_driver
from trialbed.engine._continuation import trials_to_run
from trialbed.engine._judge import judge_of
from trialbed.engine._listeners import Listeners
from trialbed.engine._plan import Prepared, by_id, trial_keys
from trialbed.engine._sandbox import run_sandbox
from trialbed.engine._server import server
from trialbed.engine._tools import select_tools
from trialbed.engine._trial import TrialRunner
from trialbed.errors import DriverBroken, NothingMeasured
from trialbed.plugins import plugin_manager
from trialbed.records import FrameworkInfo, Run, TrialKey, TrialResult
from trialbed.results import result_document, write_document
from trialbed.store import Store

INFRASTRUCTURE = ("model", "server")
"""Failures of these kinds do not concern the framework."""

FIRST_TRIALS = 8
"""Number of a session's first trials that may all fail in this way before the session is abandoned."""


class FailFast:
    """Ends a session whose first trials all fail because the model or the server cannot be reached.

    Until one trial ends otherwise, such failures are held back: once committed, they would never be tried again,
    though the endpoint was at fault.
    """

    def __init__(self) -> None:
        self._held: list[TrialResult] = []
        self._hopeful = False

    def admit(self, result: TrialResult) -> tuple[TrialResult, ...]:
        """The results to commit now that this one has come: none, or it and those held back.

        Raises:
            NothingMeasured: this many trials have come, and all failed in this way.
        """
        self._held.append(result)
        if self._hopeful or not _is_infrastructure(result):
            self._hopeful = True
            admitted, self._held = tuple(self._held), []
            return admitted
        if len(self._held) >= FIRST_TRIALS:
            self.end()
        return ()

    def end(self) -> None:
        """No more results come.

        Raises:
            NothingMeasured: every one of them failed in this way.
        """
        if not self._held:
            return
        failure = self._held[-1].outcome.failure
        assert failure is not None  # noqa: S101 - only failures are held back
        raise NothingMeasured(
            f"the first {len(self._held)} trials could not reach their {failure.kind}: {failure.message}"
        )


def _is_infrastructure(result: TrialResult) -> bool:
    failure = result.outcome.failure
    return failure is not None and failure.kind in INFRASTRUCTURE


class Progress(Protocol):
    """Follows a run; every method returns at once."""

    def begin(self, run: Run, *, total: int, done: int) -> None:
        """A run begins, or is resumed with ``done`` of its ``total`` trials kept."""

    def advance(self, result: TrialResult) -> None:
        """A trial has ended and is committed."""

    def end(self) -> None:
        """No more trials end."""

    def note(self, text: str) -> None:
        """Something that the user should know before the run begins."""


class NoProgress:
    """Progress that shows nothing."""

    def note(self, text: str) -> None:
        """Show nothing."""

    def begin(self, run: Run, *, total: int, done: int) -> None:
        """Show nothing."""

    def advance(self, result: TrialResult) -> None:
        """Show nothing."""

    def end(self) -> None:
        """Show nothing."""


T = TypeVar("T")

log = logging.getLogger("trialbed.plugins")


@asynccontextmanager
async def _meanwhile(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


class RunSession:
    """Runs the remaining trials of a run, N at a time, and commits each as it ends.

    Args:
        ambient: whether requests without a token belong to the open trial.
    """

    def __init__(self, prepared: Prepared, store: Store, run: Run, progress: Progress, *, ambient: bool) -> None:
        self._prepared = prepared
        self._store = store
        self._run = run
        self._progress = progress
        self._ambient = ambient
        self._listeners = Listeners(plugin_manager(on_broken=_leave_out))
        self._fail_fast = FailFast()
        self._began = time.monotonic()

    async def run(self, executor: Executor | None) -> list[dict[str, Any]]:
        """Run every trial that is not in the store, then write and return the documents.

        Raises:
            NothingMeasured: no trial could reach the server or the model.
        """
        try:
            await self._trials(executor)
        except BaseException:
            await asyncio.shield(asyncio.to_thread(self._interrupted))
            raise
        finally:
            self._progress.end()
        return await asyncio.to_thread(self._finish)

    async def _trials(self, executor: Executor | None) -> None:
        keys = trial_keys(self._run.config)
        attempts = await asyncio.to_thread(self._store.attempt_summaries, self._run.run_id)
        todo = trials_to_run(self._run.config, attempts, self._prepared.options)
        if not todo:
            if self._prepared.options.retry_failed:
                self._progress.note(f"run {self._run.run_id} has no failed trials to repeat")
            return
        async with self._runner(executor) as runner:
            self._listeners.notify("run_started", run=self._run)
            self._progress.begin(self._run, total=len(keys), done=len(keys) - len(todo))
            await self._lanes(runner, todo)

    @asynccontextmanager
    async def _runner(self, given: Executor | None) -> AsyncIterator[TrialRunner]:
        prepared, options = self._prepared, self._prepared.options
        executor = given or cast(
            "Executor", load_driver("executors", options.executor)(environments=options.environments)
        )
        executor.sandbox = run_sandbox(options)
        # Workers import their frameworks while the tools are selected and the server starts.
        async with executor, _meanwhile(self._describe(executor)) as described:
            tools = await select_tools(self._run, prepared.dataset, prepared.queries, self._store)
            async with server(options) as control, judge_of(self._run.config, control) as judge:
                executor.waited = control.time_waited
                executor.connect(control.url)
                await self._note(await described, control.url)
                yield TrialRunner(
                    run=self._run,
                    queries=by_id(prepared.queries),
                    tools=tools,
                    simulator=prepared.dataset.simulator,
                    control=control,
                    executor=executor,
                    listeners=self._listeners,
                    judge=judge,
                    slots=asyncio.Semaphore(options.concurrency),
                    ambient=self._ambient,
                )

    async def _describe(self, executor: Executor) -> tuple[FrameworkInfo, ...]:
        frameworks = self._run.config.frameworks
        return tuple(await asyncio.gather(*(executor.describe(framework) for framework in frameworks)))

    async def _note(self, frameworks: tuple[FrameworkInfo, ...], server_url: str) -> None:
        self._run = self._run.model_copy(update={"frameworks": frameworks, "server_url": server_url})
        await asyncio.to_thread(self._store.update_run, self._run.run_id, frameworks=frameworks, server_url=server_url)

    async def _lanes(self, runner: TrialRunner, todo: Sequence[tuple[TrialKey, int]]) -> None:
        queue = iter(todo)
        # Twice as many lanes as slots: while one lane's agent works, another opens, scores or commits its trial.
        # Ambient trials are open one at a time, so for them there is nothing to overlap.
        lanes = self._prepared.options.concurrency * (1 if self._ambient else 2)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(lanes):
                    group.create_task(self._lane(runner, queue))
        except BaseExceptionGroup as errors:
            # One lane's error ends all; the user needs that error, not the group it came in.
            raise errors.exceptions[0] from None
        self._fail_fast.end()

    async def _lane(self, runner: TrialRunner, queue: Iterator[tuple[TrialKey, int]]) -> None:
        for key, attempt in queue:
            for result in self._fail_fast.admit(await runner(key, attempt)):
                await asyncio.to_thread(self._store.add_trial, self._run.run_id, result)
                self._listeners.notify("trial_finished", run=self._run, result=result)
                self._progress.advance(result)

    def _interrupted(self) -> None:
        run_id = self._run.run_id
        if self._store.attempt_summaries(run_id):
            self._store.update_run(run_id, status="interrupted", overall_time=self._overall_time())
        else:
            self._store.discard_run(run_id)

    def _finish(self) -> list[dict[str, Any]]:
        overall = self._overall_time()
        self._run = self._run.model_copy(update={"status": "finished", "overall_time": overall})
        results = self._store.results(self._run.run_id)
        documents = [self._document(framework, results) for framework in self._run.config.frameworks]
        for document in documents:
            write_document(document, self._prepared.options.output)
        self._store.update_run(self._run.run_id, status="finished", overall_time=overall)
        self._listeners.notify("run_finished", run=self._run, documents=documents)
        return documents

    def _document(self, framework: str, results: Sequence[TrialResult]) -> dict[str, Any]:
        own = [result for result in results if result.key.framework == framework]
        extra = self._listeners.aggregate(self._run, own)
        return result_document(self._run, framework, by_id(self._prepared.queries), own, extra)

    def _overall_time(self) -> float:
        return self._run.overall_time + time.monotonic() - self._began


def _leave_out(error: DriverBroken) -> None:
    log.warning("%s The run continues without it.", error)
