"""A probe as the harness sees it: a process that measures itself while it runs a framework's trials."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, TypeVar

from trialbed.child_processes import end_process
from trialbed.files import temporary_folder
from trialbed.records import Environment, Record, TrialSpec, framework_driver
from trialbed.wire.redaction import redact
from trialbed.worker import worker_environment
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.fidelity.probe._messages import Loaded, Measured, Round

START_LIMIT = 120.0
ROUND_LIMIT = 300.0
"""Seconds that loading, and that one round may take."""

MAX_LINE = 64 * 2**20
TAIL = 2000
"""Characters of standard error that are shown."""

Reply = TypeVar("Reply", Loaded, Measured)


class Probe:
    """A running probe.

    Attributes:
        loaded: what loading the adapter took.
        start: seconds from starting the process to having the adapter loaded.
    """

    def __init__(self, process: asyncio.subprocess.Process, errors: IO[bytes]) -> None:
        self._process = process
        self._errors = errors
        self.loaded: Loaded
        self.start: float

    async def load(self, began: float) -> None:
        """Wait until the adapter is loaded.

        Raises:
            NotMeasured: it cannot be loaded.
        """
        self.loaded = await self._reply(Loaded, START_LIMIT)
        self.start = time.perf_counter() - began

    async def round(self, specs: Sequence[TrialSpec], concurrency: int) -> Measured:
        """Run these trials, so many at a time.

        Raises:
            NotMeasured: the process ended, hung or broke the protocol.
        """
        await self._send(Round(specs=tuple(specs), concurrency=concurrency))
        return await self._reply(Measured, ROUND_LIMIT)

    async def _send(self, message: Record) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(message.model_dump_json().encode() + b"\n")
        with contextlib.suppress(ConnectionError):  # if the process is gone, reading its reply shows it
            await self._process.stdin.drain()

    async def _reply(self, kind: type[Reply], seconds: float) -> Reply:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        try:
            async with asyncio.timeout(seconds):
                line = await self._process.stdout.readline()
        except TimeoutError:
            raise NotMeasured(f"the probe's process did not answer within {seconds:g} s") from None
        if not line:
            raise NotMeasured(f"the probe's process ended by itself: {self._last_output()}")
        try:
            return kind.model_validate_json(line)
        except ValueError as error:
            raise NotMeasured(f"the probe wrote {line[:200]!r}, which is not a reply") from error

    def _last_output(self) -> str:
        self._errors.seek(0)
        return (
            redact(self._errors.read().decode(errors="replace").strip()[-TAIL:]) or "it wrote nothing to standard error"
        )


@asynccontextmanager
async def open_probe(framework: str, environment: Environment | None) -> AsyncIterator[Probe]:
    """Yield a probe that has loaded the framework's adapter; it and all that it started are ended afterwards.

    Raises:
        NotMeasured: the adapter cannot be loaded there.
    """
    python = environment.python if environment else sys.executable
    with (
        temporary_folder() as folder,
        tempfile.TemporaryFile() as errors,
    ):
        began = time.perf_counter()
        try:
            process = await _start(framework, python, folder, errors, own_packages=environment is not None)
        except OSError as error:
            raise NotMeasured(f"{python} cannot be started: {error}") from error
        try:
            probe = Probe(process, errors)
            await probe.load(began)
            yield probe
        finally:
            await _end(process)


async def _start(
    framework: str, python: str, folder: Path, errors: IO[bytes], *, own_packages: bool
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        python,
        "-m",
        "trialbed_adapter_lab.fidelity.probe",
        "--framework",
        framework_driver(framework),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=errors,
        cwd=folder,
        env=worker_environment(secrets.token_hex(12), own_packages=own_packages),
        limit=MAX_LINE,
        start_new_session=True,
    )


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the process and its session, and wait for it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
    await end_process(process)
