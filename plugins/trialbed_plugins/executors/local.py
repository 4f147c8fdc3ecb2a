"""The executor of one machine: a pool of worker processes."""

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
"""Idle workers that are kept in any case; more are, as long as all workers are no more than these and one a trial."""

MEMORY_VARIABLE = "TRIALBED_MEMORY_LIMIT"
DEFAULT_MEMORY = "4G"

STARTS = 5
"""Times that a worker is started if its folder is gone when that fails: an agent in another one may remove it."""

DESCRIPTORS, OTHER_DESCRIPTORS = 8, 256
"""Open files of this process for each trial at a time (a worker's pipes, connections to the server), and all others."""

LOST = "the process from which it was forked has ended"
"""Why a trial runs again, once: it may have been the agent that ended it."""

_BYTES = TypeAdapter(ByteSize)


class LocalExecutor(Executor):
    """Runs each trial in a worker process of its framework, and uses workers again.

    A trial costs at most its worker: one whose trial failed, was cut off, left processes behind, or changed or used up
    resources that the next trial needs, is ended with everything that it started, and the next trial gets a new one.
    Workers are forked from one process that has loaded the adapter, where that has a single thread and no sandbox.

    Args:
        memory_limit: bytes (RSS) that a worker and its descendants may hold together; default:
            ``TRIALBED_MEMORY_LIMIT`` or 4 GiB.
        environments: framework -> its own environment; default: this interpreter.
        most_idle: idle workers that are kept in any case. There are never more workers than these and as many as trials
            run at once, unless all are at work: the least recently used idle one, of whatever framework, is ended
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
        """See that the amount of memory can be read."""
        super().check_options(options)
        try:
            read_memory("--executor-option memory", options.get("memory", DEFAULT_MEMORY))
        except SettingsError as error:
            raise UsageError(str(error)) from error

    @classmethod
    def check_sandbox(cls, hidden: Sequence[Path] = (), server_url: str | None = None) -> tuple[str, ...]:
        """Start this interpreter in the sandbox; returns the mechanisms that hold."""
        from trialbed_plugins.executors.sandbox import NOWHERE, check_sandbox

        return check_sandbox(hidden, server_url or NOWHERE)

    def connect(self, server_url: str) -> None:
        """Let sandboxed workers be started, which can reach nothing but this server."""
        self._server_url = server_url
        self._connected.set()

    async def describe(self, framework: str) -> FrameworkInfo:
        """The framework as reported by one of its workers, which is kept for the first trial."""
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
        """Run one trial in an idle worker of its framework, or in a new one; the latter always if it must be fresh."""
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
                    "%s: trial %s of query %s left %d process(es) running; they were ended, and its worker too",
                    *(worker.framework, spec.trial, spec.key.query_id, count),
                )
            elif outcome.failure is None and (reason := worker.spent()):
                # Its own reason is a fault of the agent's, of which nothing else is seen.
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
        # Where many trials run at once, many workers are idle for a moment: the next trials would start them anew.
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
                # An agent may have ended the template, and all its workers with it.
                if not left or not await template.has_ended():
                    raise
        return await self._start(framework)

    async def _start(self, framework: str, template: Worker | None = None) -> Worker:
        """Start a process: forked from a template, or else one that loads the adapter."""
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
                    os.makedirs(folder)  # an agent may have removed the one above
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
        """Decide whose fault a failed start of a worker is: an adapter that has loaded before is not slow by itself."""
        if fault.kind == "server":
            return fault
        if fault.kind == "timeout" and framework in self._loaded:
            return WorkerFault("server", f"{fault}, though it had loaded before: this machine was too busy", tail)
        return WorkerFault("adapter", str(fault), tail)

    async def _discard(self, worker: Worker) -> None:
        """End a worker even if this task is cancelled; a second cancellation leaves it to ``__aexit__``."""
        ending = asyncio.ensure_future(worker.end())
        await asyncio.shield(ending)
        self._workers.discard(worker)
        await asyncio.to_thread(shutil.rmtree, self._folder / worker.mark, ignore_errors=True)


def allow_descriptors(count: int) -> None:
    """Let this process open as many files as the system allows it, up to this number."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = count if hard == resource.RLIM_INFINITY else min(count, hard)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def read_memory(place: str, text: str) -> int:
    """Read an amount of memory, in bytes, that stands in this place.

    Raises:
        SettingsError: it is not one.
    """
    # A single letter is a power of 1024, as memory is counted; pydantic takes it for a power of 1000.
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

    Whether the endpoint or the server failed is not for it to say: that would spare it a score.
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
