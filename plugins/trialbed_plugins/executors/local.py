"""The executor for one machine, with a pool of worker processes."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from pydantic import ByteSize, TypeAdapter, ValidationError

from trialbed import errors
from trialbed.contracts import Executor, LostTrial
from trialbed.errors import DriverBroken, DriverError, SettingsError, UsageError
from trialbed.files import temporary_folder
from trialbed.records import (
    NOT_MEASURED,
    Environment,
    Failure,
    FailureKind,
    FrameworkInfo,
    Outcome,
    TrialKey,
    TrialSpec,
)
from trialbed.wire.redaction import redact
from trialbed_plugins.executors._worker import NotBegun, Preparing, StartFailed, Worker, WorkerFault

LOG = logging.getLogger("trialbed.executors")

MAX_IDLE = 16
"""Idle workers that are always kept. More are kept while there are fewer workers than this plus one per trial."""

MEMORY_VARIABLE = "TRIALBED_MEMORY_LIMIT"
DEFAULT_MEMORY = "4G"

STARTS = 5
"""Attempts to start a worker if its folder has disappeared. An agent in another worker may remove it."""

DESCRIPTORS, OTHER_DESCRIPTORS = 8, 256
"""Open files for each concurrent trial (a worker's pipes, connections to the server), and all others."""

LOST = "the process from which it was forked has ended"
"""The reason a trial runs again, but only once: its agent may have ended the process."""

_BYTES = TypeAdapter(ByteSize)


class LocalExecutor(Executor):
    """Runs each trial in a worker process of its framework, and reuses workers.

    A trial can ruin at most its worker. A worker is ended with all its processes if its trial failed, was cut off, left
    processes behind, or changed or used up resources that the next trial needs, which then gets a new worker. Workers
    are forked from one process that has loaded the adapter, if that has a single thread and no sandbox.

    Args:
        memory_limit: most bytes (RSS) for a worker and its descendants together. Defaults to ``TRIALBED_MEMORY_LIMIT``
            or 4 GiB.
        environments: maps frameworks to their own environments. Others use this interpreter.
        most_idle: idle workers that are always kept. The number of workers is at most this plus the number of
            concurrent trials, unless all are busy: the least recently used idle worker, of any framework, is ended
            before another is started.
    """

    reuses_workers = True
    runs_commands = True
    runs_sandboxed = True
    option_names = MappingProxyType(
        {"memory": f"what a worker and its descendants may hold together, such as 4G; {MEMORY_VARIABLE} otherwise"}
    )

    def __init__(
        self,
        *,
        memory_limit: int | None = None,
        environments: Mapping[str, Environment] | None = None,
        most_idle: int = MAX_IDLE,
    ) -> None:
        super().__init__(environments=environments)
        memory = os.environ.get(MEMORY_VARIABLE, DEFAULT_MEMORY)
        self._memory_limit = memory_limit or read_memory(MEMORY_VARIABLE, memory)
        self._most_idle = most_idle
        self._workers: set[Worker] = set()
        self._idle: list[Worker] = []
        self._loaded: set[str] = set()
        self._templates: dict[str, Worker] = {}
        self._unforkable: set[str] = set()
        self._lost: set[TrialKey] = set()
        self._loading: dict[str, asyncio.Lock] = {}
        self._connected = asyncio.Event()
        self._server_url = ""

    async def __aenter__(self) -> Self:
        if "memory" in self.options:
            self._memory_limit = read_memory("--executor-option memory", self.options["memory"])
        allow_descriptors(DESCRIPTORS * self.concurrency + OTHER_DESCRIPTORS)
        self._temporary = temporary_folder()
        self._folder = await asyncio.to_thread(self._temporary.__enter__)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        idle, self._idle = self._idle, []
        await asyncio.gather(*(worker.dismiss() for worker in idle))
        await asyncio.gather(*map(self._discard, list(self._workers)))
        await asyncio.gather(*map(self._discard, self._templates.values()))
        await asyncio.to_thread(self._temporary.__exit__, None, None, None)

    @classmethod
    def check_options(cls, options: Mapping[str, str]) -> None:
        """Check that the amount of memory can be read."""
        super().check_options(options)
        try:
            read_memory("--executor-option memory", options.get("memory", DEFAULT_MEMORY))
        except SettingsError as error:
            raise UsageError(str(error)) from error

    @classmethod
    def check_sandbox(cls, hidden: Sequence[Path] = (), server_url: str | None = None) -> tuple[str, ...]:
        """Start this interpreter in the sandbox, and return the active mechanisms."""
        from trialbed_plugins.executors.sandbox import NOWHERE, check_sandbox

        return check_sandbox(hidden, server_url or NOWHERE)

    def connect(self, server_url: str) -> None:
        """Set the only server that sandboxed workers can reach, and allow them to start."""
        self._server_url = server_url
        self._connected.set()

    async def describe(self, framework: str) -> FrameworkInfo:
        """Return the framework as one of its workers reports it. The worker is kept for the first trial."""
        try:
            worker = await self._take(framework)
        except StartFailed as error:
            raise _driver_error(error, framework, own=framework in self.environments) from error
        except WorkerFault as error:
            text = f"frameworks: {framework!r} cannot be loaded: {error}\n{error.detail}"
            raise DriverBroken(text.rstrip()) from error
        self._idle.append(worker)
        environment = self.environments.get(framework)
        lock = {"lock": environment.lock, "lock_digest": environment.lock_digest} if environment else {}
        return worker.info.model_copy(update={"name": framework, **lock})

    async def execute(self, spec: TrialSpec) -> Outcome | LostTrial:
        """Run one trial in an idle or a new worker. Trials that must be fresh get a worker without earlier trials."""
        started_at = datetime.now(UTC)
        while True:
            try:
                worker = await self._take(spec.key.framework, fresh=spec.fresh)
            except (StartFailed, WorkerFault) as error:
                return _not_started(error, started_at)
            try:
                return await self._run(worker, spec)
            except NotBegun as reason:
                LOG.warning("%s: a worker was lost between trials: %s", worker.framework, reason)

    async def _run(self, worker: Worker, spec: TrialSpec) -> Outcome | LostTrial:
        started_at = datetime.now(UTC)
        reusable, first = False, worker.fresh
        try:
            outcome = _as_told(await worker.run(spec, self.time_waited))
            # A failed trial may have left anything behind.
            count, reason = await worker.strays(), ""
            if count:
                LOG.warning(
                    "%s: trial %s of task %s left %d process(es) running; they were stopped, and so was its worker",
                    *(worker.framework, spec.trial, spec.key.query_id, count),
                )
            elif outcome.failure is None and (reason := worker.spent()):
                # If the worker gives a reason, the agent is at fault and nothing else shows it.
                level = logging.WARNING if worker.is_at_fault else logging.INFO
                LOG.log(level, "%s: a worker was replaced: %s", worker.framework, reason)
            reusable = not count and outcome.failure is None and not reason
        except WorkerFault as fault:
            if worker.is_lost and spec.key not in self._lost:
                self._lost.add(spec.key)
                return LostTrial("a worker", LOST)
            outcome = worker.failed(fault, started_at)
        finally:
            if reusable:
                self._idle.append(worker)
            else:
                await self._discard(worker)
        # If many trials run at once, many workers are idle for a moment. The next trials would have to restart them.
        most = self._most_idle + self.concurrency
        while len(self._idle) > self._most_idle and len(self._workers) >= most:
            await self._discard(self._idle.pop(0))
        return outcome.model_copy(update={"first": first, "started_at": started_at})

    async def _take(self, framework: str, *, fresh: bool = False) -> Worker:
        while True:
            fitting = [own for own in self._idle if own.framework == framework and (own.fresh or not fresh)]
            if not fitting:
                return await self._spawn(framework)
            worker = fitting[-1]
            self._idle.remove(worker)
            if worker.usable:
                return worker
            await self._discard(worker)

    async def _spawn(self, framework: str) -> Worker:
        if self.hidden is not None:
            await self._connected.wait()
        while self._idle and len(self._workers) >= self._most_idle + self.concurrency:
            await self._discard(self._idle.pop(0))
        for left in reversed(range(STARTS)):
            if self.hidden is not None or framework in self._unforkable:
                break
            async with self._loading.setdefault(framework, asyncio.Lock()):
                template = self._templates.get(framework)
                if template is None or not template.alive:
                    if template is not None:
                        await self._discard(template)
                    template = self._templates[framework] = await self._start(framework)
                    self._workers.discard(template)
                if template.forks is None:
                    self._unforkable.add(framework)
                    self._workers.add(template)
                    return self._templates.pop(framework)
            try:
                return await self._start(framework, template)
            except WorkerFault:
                # An agent may have ended the template together with all its workers.
                if not left or not await template.has_ended():
                    raise
        return await self._start(framework)

    async def _start(self, framework: str, template: Worker | None = None) -> Worker:
        """Start a process. It is forked from a template or loads the adapter."""
        environment, command = self.environments.get(framework), self.commands.get(framework)
        preparing: Preparing | None = None
        if self.hidden is not None:
            from trialbed_plugins.executors.sandbox import launch

            preparing = partial(
                launch,
                hidden=self.hidden,
                server_url=self._server_url,
                environment_lock=environment.lock if environment else None,
                files=command.files if command else (),
            )
        for left in reversed(range(STARTS)):
            worker = Worker(framework, self._memory_limit, command)
            self._workers.add(worker)
            folder = self._folder / worker.mark
            try:
                try:
                    os.makedirs(folder)  # an agent may have removed the parent
                except FileNotFoundError as error:
                    raise WorkerFault("server", f"its folder cannot be made: {error}") from error
                if template is None or template.forks is None:
                    await worker.start(environment.python if environment else None, folder, preparing)
                else:
                    await worker.start_from(template, template.forks, folder)
            except BaseException as error:
                removed = not await asyncio.to_thread(folder.is_dir)
                await self._discard(worker)
                if left and removed and isinstance(error, (StartFailed, WorkerFault)):
                    continue
                if isinstance(error, WorkerFault):
                    raise self._start_fault(error, framework, worker.tail()) from error
                raise
            break
        self._loaded.add(framework)
        return worker

    def _start_fault(self, fault: WorkerFault, framework: str, tail: str) -> WorkerFault:
        """Choose the kind of a failed start. An adapter that has loaded before is not to blame for a timeout."""
        if fault.kind == "server":
            return fault
        if fault.kind == "timeout" and framework in self._loaded:
            return WorkerFault("server", f"{fault}, though it had loaded before: this machine was too busy", tail)
        return WorkerFault("adapter", str(fault), tail)

    async def _discard(self, worker: Worker) -> None:
        """End a worker even if this task is cancelled. After a second cancellation, ``__aexit__`` ends it."""
        ending = asyncio.ensure_future(worker.end())
        await asyncio.shield(ending)
        self._workers.discard(worker)
        await asyncio.to_thread(shutil.rmtree, self._folder / worker.mark, ignore_errors=True)


def allow_descriptors(count: int) -> None:
    """Raise the limit of open files to this number, as far as the system allows."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = count if hard == resource.RLIM_INFINITY else min(count, hard)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def read_memory(place: str, text: str) -> int:
    """Parse an amount of memory in bytes.

    Args:
        place: the setting, for messages.

    Raises:
        SettingsError: the text is not an amount of memory.
    """
    # A single letter means a power of 1024, as usual for memory. Pydantic would use a power of 1000.
    amount = re.sub(r"(?<=[\d\s])([KMGT])$", r"\1iB", text.strip().upper())
    try:
        limit = int(_BYTES.validate_python(amount))
    except ValidationError:
        limit = 0
    if limit <= 0:
        raise SettingsError(f"{place}: {text!r} is not an amount of memory; write bytes, or 512M, or 4G")
    return limit


def _driver_error(error: StartFailed, framework: str, *, own: bool) -> DriverError:
    kind = getattr(errors, error.failed.error, DriverBroken)
    text = error.failed.message
    if own:
        text += (
            "\nIf its environment was changed by hand, build it again: "
            f"`bench env remove {framework}`, then `bench env add {framework}`"
        )
    return kind(text) if issubclass(kind, DriverError) else DriverBroken(text)


def _not_started(error: StartFailed | WorkerFault, started_at: datetime) -> Outcome:
    kind: FailureKind = "adapter" if isinstance(error, StartFailed) else error.kind
    detail = error.failed.detail if isinstance(error, StartFailed) else error.detail
    failure = Failure(kind=kind, message=str(error), detail=detail)
    return _redact(Outcome(started_at=started_at, wall_time=0.0, failure=failure, first=True))


def _as_told(outcome: Outcome) -> Outcome:
    """Mask the secrets in a worker's reply about its trial.

    The worker may not blame the endpoint or the server, since its agent would then not be scored.
    """
    failure = outcome.failure
    if failure is not None and failure.kind in NOT_MEASURED:
        outcome = outcome.model_copy(update={"failure": failure.model_copy(update={"kind": "agent"})})
    return _redact(outcome)


def _redact(outcome: Outcome) -> Outcome:
    failure = outcome.failure
    if failure is None:
        return outcome
    clean = Failure(kind=failure.kind, message=redact(failure.message), detail=redact(failure.detail))
    return outcome.model_copy(update={"failure": clean})
