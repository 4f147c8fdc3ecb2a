"""Run each trial as a job of Slurm, by https://github.com/facebookincubator/submitit.

bench run --executor ./slurm.py:SlurmExecutor --executor-option partition=short

Each trial waits in Slurm's queue, so this is for trials that take minutes.
"""

import asyncio
from typing import ClassVar

import submitit

from trialbed.contracts import Executor, LostTrial
from trialbed.records import FrameworkInfo, Outcome
from trialbed_plugins.executors.job import JobOrder, run_job


class SlurmExecutor(Executor):
    """Run each trial as a Slurm job; all nodes need ``bench``'s environment."""

    remote = True
    option_names: ClassVar = {
        "host": "the address of this machine for nodes",
        "partition": "the partition of the jobs",
        "folder": "submitit's folder, shared by the nodes and this machine",
    }

    async def __aenter__(self):
        self._jobs = submitit.AutoExecutor(folder=self.options.get("folder", "slurm"))
        self._jobs.update_parameters(timeout_min=60, slurm_partition=self.options.get("partition", ""))
        return self

    def server_host(self):
        """Return the server's address for workers."""
        return self.options.get("host")

    def connect(self, server_url):
        """Remember the address of the server."""
        self._server_url = server_url

    async def describe(self, framework):
        """Return versions and packages of a framework there."""
        return FrameworkInfo.model_validate_json(
            await self._run(JobOrder(framework=framework, lock=self._lock(framework)))
        )

    async def execute(self, spec):
        """Run a trial; a machine that is gone is a lost trial."""
        framework = spec.key.framework
        order = JobOrder(framework=framework, trial=spec, lock=self._lock(framework), server_url=self._server_url)
        try:
            return Outcome.model_validate_json(await self._run(order))
        except (submitit.core.utils.UncompletedJobError, submitit.core.utils.FailedJobError) as error:
            return LostTrial("a node of Slurm", str(error).splitlines()[0][:300])

    def _lock(self, framework):
        environment = self.environments.get(framework)
        return environment.lock if environment else ""

    async def _run(self, order):
        job = await asyncio.to_thread(self._jobs.submit, run_job, order.model_dump_json())
        try:
            return await job.awaitable().result()
        except asyncio.CancelledError:
            job.cancel()
            raise

    async def __aexit__(self, *error):
        """Do nothing, because each job ends with its trial."""
