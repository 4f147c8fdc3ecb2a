"""An actor for trials on a node, which runs them with the local executor."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

from trialbed.contracts import LostTrial, difference
from trialbed.records import FrameworkInfo, Outcome, Record, TrialSpec
from trialbed.settings import env_dir
from trialbed.worker import waited_at, worker_environment
from trialbed_plugins.executors.local import LocalExecutor

MOST_IDLE = 6
"""Idle workers of a place. Few are needed because trials prefer places with a worker of their framework."""

OWN = ("RAY_", "TRIALBED_ENV_DIR", "TRIALBED_MEMORY_LIMIT")
"""Beginnings of the names of variables that a node may set for its places."""


class UnfitNode(Exception):
    """The framework of a trial cannot be used on this node, or differs from the other nodes' framework."""


class Place:
    """The actor. Ray calls its methods in threads; if it had a coroutine, it would call all of them in one.

    Args:
        setup: of the runner.
    """

    def __init__(self, **setup: Any) -> None:
        _drop_secrets()
        self._runner = PlaceRunner(**setup)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def open(self) -> str:
        """Begin, and return the name of the node, short enough for people to read."""
        import ray

        self._do(self._runner.executor.__aenter__())
        return f"{ray.util.get_node_ip_address()}/{ray.get_runtime_context().get_node_id()[:6]}"

    def stay(self) -> None:
        """Never return; callers that wait for this learn of the actor's end."""
        threading.Event().wait()

    def close(self) -> None:
        """End all workers."""
        self._do(self._runner.executor.__aexit__(None, None, None))

    def call(self, method: str, *arguments: Any) -> tuple[str, str]:
        """Call a method of the runner.

        Returns:
            The class of the result, and it as JSON; or the class and text of an error.
        """
        found: tuple[str, str] = self._do(_told(getattr(self._runner, method)(*arguments)))
        return found

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class PlaceRunner:
    """Runs one trial at a time.

    Args:
        locks: label of a framework -> the lock of its own environment, which is built if needed.
        hidden: paths hidden from workers, if they exist; None for workers without a sandbox.
        options: of the local executor.
    """

    def __init__(self, locks: Mapping[str, str], hidden: list[str] | None, options: Mapping[str, str]) -> None:
        self._locks = locks
        self._building = asyncio.Lock()
        self._server_url = ""
        self.executor = LocalExecutor(most_idle=MOST_IDLE)
        self.executor.options = dict(options)
        if hidden is not None:
            self.executor.hidden = tuple(path for path in map(Path, hidden) if path.exists())

    async def describe(self, framework: str, server_url: str) -> FrameworkInfo:
        """Describe a framework, after building its environment if necessary.

        Args:
            server_url: the root of the server; empty if it is not known yet.
        """
        self._use(server_url)
        async with self._building:
            if framework in self._locks and framework not in self.executor.environments:
                # Imported here: most places build none, and each begins with a process of its own.
                from trialbed.environments import EnvironmentStore, locked_environment

                found = await locked_environment(framework, self._locks[framework], EnvironmentStore(env_dir()))
                self.executor.environments[framework] = found
        return await self.executor.describe(framework)

    async def execute(self, spec: str, expected: str | None, server_url: str) -> Outcome:
        """Run a trial.

        Args:
            spec: a ``TrialSpec`` as JSON.
            expected: the framework on the other nodes, also as JSON; None if it has been compared here.

        Raises:
            UnfitNode: the framework cannot be used here.
        """
        self._use(server_url)
        trial = TrialSpec.model_validate_json(spec)
        if expected is not None:
            try:
                found = await self.describe(trial.key.framework, server_url)
            except Exception as error:
                raise UnfitNode(str(error)) from error
            if differs := difference(FrameworkInfo.model_validate_json(expected), found):
                raise UnfitNode(differs)
        outcome = await self.executor.execute(trial)
        return outcome.outcome() if isinstance(outcome, LostTrial) else outcome

    def _use(self, server_url: str) -> None:
        if server_url and not self._server_url:
            self._server_url = server_url
            self.executor.waited = waited_at(server_url)
            self.executor.connect(server_url)


async def _told(work: Coroutine[Any, Any, Record]) -> tuple[str, str]:
    """Return the class of a result and its JSON, or the class and text of an error."""
    try:
        found = await work
        return type(found).__name__, found.model_dump_json()
    except Exception as error:  # noqa: BLE001 - the engine reports any error
        return type(error).__name__, str(error)


def _drop_secrets() -> None:
    """Remove the keys of the person who started the node from the environment."""
    kept = worker_environment("")
    own = {name for name in os.environ if name.startswith(OWN)}
    for name in os.environ.keys() - kept.keys() - own:
        del os.environ[name]
