"""An executor; each place to change is marked REPLACE.

It gives each trial as an order to a program that runs it with a worker of its machine, and reads the outcome.
docs/how-to/write-an-executor.md shows such executors for Kubernetes and Slurm.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from types import TracebackType

from trialbed.contracts import Executor, LostTrial
from trialbed.errors import DriverBroken
from trialbed.records import FrameworkInfo, Outcome, TrialSpec
from trialbed_plugins.executors.job import JobOrder

JOB = (sys.executable, "-m", "trialbed_plugins.executors.job")
"""REPLACE: the command that starts the program on your machines, such as ``ssh HOST python -m …``."""
REFUSED = (2, 3)
"""Its exit status if it cannot carry out an order, such as without the adapter."""


class NewPluginExecutor(Executor):
    """Runs each trial in a process that ends with it."""

    # REPLACE: on other machines, set `remote = True`, and let server_host() return this machine's address.
    _server_url = ""

    def connect(self, server_url: str) -> None:
        """Note where the trials find the server."""
        self._server_url = server_url

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: each process ends with its trial."""

    async def describe(self, framework: str) -> FrameworkInfo:
        """Return what a worker reports of its framework."""
        status, output, error = await self._run(framework, None)
        if status:
            raise DriverBroken(f"{framework}: {error}")
        return FrameworkInfo.model_validate_json(output)

    async def execute(self, spec: TrialSpec) -> Outcome | LostTrial:
        """Run one trial. An agent's failure is an outcome too; a trial that was lost with its machine runs again."""
        status, output, error = await self._run(spec.key.framework, spec)
        if status in REFUSED:
            raise DriverBroken(f"the trial cannot be run: {error}")
        return LostTrial("a process", error) if status else Outcome.model_validate_json(output)

    async def _run(self, framework: str, trial: TrialSpec | None) -> tuple[int | None, bytes, str]:
        environment = self.environments.get(framework)
        lock = environment.lock if environment else ""
        order = JobOrder(framework=framework, trial=trial, lock=lock, server_url=self._server_url)
        process = await asyncio.create_subprocess_exec(*JOB, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        try:
            output, error = await process.communicate(order.model_dump_json().encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode, output, error.decode(errors="replace").strip()[-300:]
