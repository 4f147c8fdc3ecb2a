"""A place for trials on a node: an actor that runs them with the local executor."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from pathlib import Path

from trialbed.contracts import Sandbox
from trialbed.records import TrialSpec
from trialbed.settings import env_dir
from trialbed.worker import waited_at, worker_environment
from trialbed_plugins.executors.local import LocalExecutor
from trialbed_ray._messages import PlaceSetup

MOST_IDLE = 6
"""Idle workers of a place: trials go to one whose worker has their framework, so that few are needed."""

OWN = ("RAY_", "TRIALBED_ENV_DIR", "TRIALBED_MEMORY_LIMIT", "TRIALBED_WORKER_TRIALS")
"""Beginnings of the names of variables that a node may set for its places."""


class Place:
    """Runs one trial at a time.

    Args:
        setup: a ``PlaceSetup`` as JSON.
    """

    def __init__(self, setup: str) -> None:
        self._setup = PlaceSetup.model_validate_json(setup)
        self._building: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._executor: LocalExecutor | None = None

    async def open(self) -> str:
        """Become usable, and return the address and the id of the node."""
        import ray

        _drop_secrets()
        self._executor = LocalExecutor(most_idle=MOST_IDLE)
        self._executor.options = dict(self._setup.options)
        if self._setup.sandbox:
            hidden = tuple(path for path in map(Path, self._setup.hidden) if path.exists())
            self._executor.sandbox = Sandbox(self._setup.sandbox, hidden)
        await self._executor.__aenter__()
        return f"{ray.util.get_node_ip_address()}/{ray.get_runtime_context().get_node_id()}"

    async def live(self) -> None:
        """Never return: who waits for this learns of the actor's end."""
        await asyncio.Event().wait()

    async def connect(self, server_url: str) -> str:
        """Learn where the server is."""
        self._own.waited = waited_at(server_url)
        self._own.connect(server_url)
        return ""

    async def describe(self, framework: str) -> str:
        """Describe a framework, whose environment is built here if need be."""
        await self._provide(framework)
        return (await self._own.describe(framework)).model_dump_json()

    async def execute(self, spec: str) -> str:
        """Run a trial."""
        trial = TrialSpec.model_validate_json(spec)
        await self._provide(trial.key.framework)
        return (await self._own.execute(trial)).model_dump_json()

    async def close(self) -> None:
        """End all workers."""
        await self._own.__aexit__(None, None, None)

    @property
    def _own(self) -> LocalExecutor:
        assert self._executor is not None  # noqa: S101 - open() comes first
        return self._executor

    async def _provide(self, framework: str) -> None:
        lock = self._setup.locks.get(framework)
        if lock is None or framework in self._own.environments:
            return
        # The places of one node build an environment once: whoever comes later finds it.
        async with self._building[framework]:
            # Imported here: most places build none, and each begins with a process of its own.
            from trialbed.environments import EnvironmentStore, locked_environment

            store = EnvironmentStore(env_dir())
            self._own.environments[framework] = await locked_environment(framework, lock, store)


def _drop_secrets() -> None:
    """Forget the keys that whoever started the node had in the environment."""
    kept = worker_environment("")
    own = {name for name in os.environ if name.startswith(OWN)}
    for name in os.environ.keys() - kept.keys() - own:
        del os.environ[name]
