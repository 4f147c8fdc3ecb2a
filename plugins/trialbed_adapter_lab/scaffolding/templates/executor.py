"""An executor; each place to change is marked REPLACE.

It starts a worker process of this machine for each trial. The protocol is that of
docs/reference/worker-protocol.md: one JSON object per line over the worker's standard streams.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from trialbed import errors
from trialbed.contracts import Executor
from trialbed.records import Failure, FailureKind, FrameworkInfo, Outcome, TrialSpec
from trialbed.worker import worker_command, worker_environment

START = 120.0
"""Seconds that a worker may take to load its adapter."""
LONGEST = 32 * 2**20
"""Bytes of one message."""


class NewPluginExecutor(Executor):
    """Runs each trial in a new worker process, which is ended after it with all of its group."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left: each worker ends with its trial."""

    async def describe(self, framework: str) -> FrameworkInfo:
        """Start a worker of this framework and return its report."""
        async with self._worker(framework) as worker:
            return worker.info.model_copy(update={"name": framework})

    async def execute(self, spec: TrialSpec) -> Outcome:
        """Run one trial; its faults are its outcome."""
        started = datetime.now(UTC)
        try:
            async with self._worker(spec.key.framework) as worker:
                outcome = await self._run(worker, spec)
        except errors.TrialbedError as error:
            outcome = _failure("crash", f"the worker did not start: {error}", started)
        except (OSError, EOFError) as error:
            outcome = _failure("crash", f"the worker ended: {error}", started)
        except ValueError as error:
            outcome = _failure("protocol", f"the worker wrote what is no message: {error}", started)
        return outcome.model_copy(update={"first": True, "started_at": started})

    async def _run(self, worker: NewPluginWorker, spec: TrialSpec) -> Outcome:
        begun, seconds = datetime.now(UTC), spec.limits.timeout
        await worker.send(type="begin", spec=spec.model_dump(mode="json"))
        try:
            async with asyncio.timeout(seconds) as deadline:
                return await worker.outcome()
        except TimeoutError:
            # REPLACE: await self.time_waited(spec.trial), and give the trial that much longer.
            if not deadline.expired():
                raise
            return _failure("timeout", f"no answer within {seconds:g} s", begun)

    @asynccontextmanager
    async def _worker(self, framework: str) -> AsyncIterator[NewPluginWorker]:
        # REPLACE: start it where your workers run.
        environment = self.environments.get(framework)
        process = await asyncio.create_subprocess_exec(
            *worker_command(framework, environment.python if environment else None),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=worker_environment(secrets.token_hex(8), own_packages=environment is not None),
            limit=LONGEST,
            start_new_session=True,
        )
        worker = NewPluginWorker(process)
        try:
            try:
                async with asyncio.timeout(START):
                    await worker.start()
            except TimeoutError as error:
                raise errors.DriverError(f"no worker of {framework} within {START:g} s") from error
            yield worker
        finally:
            await worker.end()


class NewPluginWorker:
    """The process of one trial."""

    info: FrameworkInfo

    def __init__(self, process: Process) -> None:
        self._process = process
        self._nonce = secrets.token_hex(16)

    async def start(self) -> None:
        """Greet the worker, and wait until its adapter is loaded."""
        await self.send(type="hello", nonce=self._nonce)
        message = await self.read()
        if message["type"] == "failed":
            kind = getattr(errors, message["error"], errors.DriverError)
            raise kind(message["message"])
        self.info = FrameworkInfo.model_validate(message["info"])

    async def outcome(self) -> Outcome:
        """Wait for the end of the trial; its time is taken here, since code in the worker can change its clock."""
        times = [time.monotonic()]
        while (message := await self.read())["type"] != "done":
            if message["type"] == "clock":
                times = [time.monotonic()] if message["running"] else [times[0], time.monotonic()]
        return Outcome.model_validate(message["outcome"]).model_copy(update={"wall_time": times[-1] - times[0]})

    async def send(self, **message: Any) -> None:
        """Write a message."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        await self._process.stdin.drain()

    async def read(self) -> dict[str, Any]:
        """Read the next message; one without the nonce is not the worker's."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise EOFError(f"exit code {await self._process.wait()}")
        message = json.loads(line)
        if not isinstance(message, dict) or message.get("nonce") != self._nonce:
            raise ValueError("it lacks the nonce")
        return message

    async def end(self) -> None:
        """End the process and its group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()


def _failure(kind: FailureKind, message: str, started: datetime) -> Outcome:
    seconds = (datetime.now(UTC) - started).total_seconds()
    return Outcome(started_at=started, wall_time=seconds, failure=Failure(kind=kind, message=message))
