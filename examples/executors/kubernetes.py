"""Run each trial in a pod of its own.

bench run --executor ./kubernetes.py:KubernetesExecutor --executor-option image=registry/trialbed:1 \
    --executor-option host=10.0.0.7
"""

import asyncio
import secrets
from asyncio.subprocess import PIPE
from typing import ClassVar

from trialbed.contracts import Executor, LostTrial
from trialbed.errors import DriverBroken, UsageError
from trialbed.records import FrameworkInfo, Outcome
from trialbed_plugins.executors.job import JobOrder

# Exit codes of the job itself. kubectl ends with 1 if a pod was evicted or is gone, and with 137 after a kill.
REFUSED = (2, 3)


class KubernetesExecutor(Executor):
    """The image needs Trialbed, and adapters without an environment of their own."""

    remote = True
    option_names: ClassVar = {
        "image": "the image of the pods",
        "host": "the address of this machine for pods",
        "namespace": "the namespace of the pods",
    }

    @classmethod
    def check_options(cls, options):
        """Refuse options without an image and a host."""
        super().check_options(options)
        if not options.keys() >= {"image", "host"}:
            raise UsageError("give --executor-option image=IMAGE and --executor-option host=ADDRESS")

    def server_host(self):
        """Return the server's address for workers."""
        return self.options["host"]

    def connect(self, server_url):
        """Remember the address of the server."""
        self._server_url = server_url

    async def describe(self, framework):
        """Return versions and packages of a framework there."""
        status, out, error = await self._run(JobOrder(framework=framework, lock=self._lock(framework)))
        if status != 0:
            raise DriverBroken(f"{framework}: {error}")
        return FrameworkInfo.model_validate_json(out)

    async def execute(self, spec):
        """Run a trial; a machine that is gone is a lost trial."""
        framework = spec.key.framework
        order = JobOrder(framework=framework, trial=spec, lock=self._lock(framework), server_url=self._server_url)
        status, out, error = await self._run(order)
        if status == 0:
            return Outcome.model_validate_json(out)  # includes failures of the agent
        if status in REFUSED:
            raise DriverBroken(f"a pod cannot carry out the trial: {error}")
        return LostTrial("a pod", error)

    def _lock(self, framework):
        environment = self.environments.get(framework)
        return environment.lock if environment else ""

    async def _run(self, order):
        name, space = f"trialbed-{secrets.token_hex(6)}", self.options.get("namespace", "default")
        pod = ("kubectl", "--namespace", space, "run", name, "--image", self.options["image"])
        how = ("--rm", "--stdin", "--quiet", "--restart=Never", "--command", "--")
        job = ("python", "-m", "trialbed_plugins.executors.job")
        process = await asyncio.create_subprocess_exec(*pod, *how, *job, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        try:
            out, error = await process.communicate(order.model_dump_json().encode())
        except asyncio.CancelledError:
            process.kill()
            end = ("kubectl", "--namespace", space, "delete", "pod", name, "--wait=false")
            await (await asyncio.create_subprocess_exec(*end)).wait()
            raise
        return process.returncode, out, error.decode(errors="replace")[-300:].strip()

    async def __aexit__(self, *error):
        """Do nothing, because each pod ends with its trial."""
