"""A place for trials on a node: an actor that runs them with the local executor."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from contextlib import suppress

from trialbed.contracts import LostTrial
from trialbed.settings import env_dir
from trialbed.worker import waited_at, worker_environment
from trialbed_plugins.executors.local import LocalExecutor
from trialbed_ray._messages import (
    ORDER,
    Answer,
    Describe,
    Described,
    Execute,
    Executed,
    Greeting,
    NotDone,
    PlaceConnection,
    PlaceSetup,
    UseServer,
)

MOST_IDLE = 6
"""Idle workers of a place: trials go to one whose worker has their framework, so that few are needed."""

OWN = ("RAY_", "TRIALBED_ENV_DIR", "TRIALBED_MEMORY_LIMIT", "TRIALBED_WORKER_TRIALS")
"""Beginnings of the names of variables that a node may set for its places."""


class PlaceActor:
    """The actor of a place.

    It has no coroutine, for which Ray would keep a thread of its own, and wake the first one a hundred times a second.

    Args:
        setup: of the place.
    """

    def __init__(self, setup: str) -> None:
        self._place = Place(setup)

    def serve(self, host: str, port: int, token: str) -> None:
        """Do as the engine there says, until it hangs up: who waits for this learns of the actor's end."""
        asyncio.run(self._place.serve(host, port, token))


class Place:
    """Runs one trial at a time.

    Args:
        setup: a ``PlaceSetup`` as JSON.
    """

    def __init__(self, setup: str) -> None:
        self._setup = PlaceSetup.model_validate_json(setup)
        self._building: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def serve(self, host: str, port: int, token: str) -> None:
        """Do as the engine there says, until it hangs up."""
        import ray

        _drop_secrets()
        node = ray.get_runtime_context().get_node_id()
        connection = await PlaceConnection.open(host, port)
        try:
            executor = LocalExecutor(most_idle=MOST_IDLE)
            executor.options = dict(self._setup.options)
            if self._setup.hidden is not None:
                executor.hidden = tuple(path for path in self._setup.hidden if path.exists())
            async with executor:
                connection.send(Greeting(token=token, address=ray.util.get_node_ip_address(), node=node))
                await self._serve(connection, executor)
        finally:
            connection.close()

    async def _serve(self, connection: PlaceConnection, executor: LocalExecutor) -> None:
        tasks: set[asyncio.Task[None]] = set()
        try:
            while True:
                order = ORDER.validate_json(await connection.read())
                if isinstance(order, UseServer):
                    executor.waited = waited_at(order.url)
                    executor.connect(order.url)
                    continue
                task = asyncio.create_task(self._answer(connection, executor, order))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
        except (EOFError, OSError):
            """The engine has hung up, or cannot be reached any more."""
        finally:
            for task in tasks:
                task.cancel()
            with suppress(ValueError):  # there are none
                await asyncio.wait(tasks)

    async def _answer(self, connection: PlaceConnection, executor: LocalExecutor, order: Describe | Execute) -> None:
        try:
            connection.send(await self._carry_out(executor, order))
        except Exception as error:  # noqa: BLE001 - whatever it is, the engine is told
            try:
                text = str(error).encode(errors="replace").decode()
                connection.send(NotDone(number=order.number, error=type(error).__name__, message=text))
            except Exception:  # noqa: BLE001 - the engine would wait for ever
                connection.close()

    async def _carry_out(self, executor: LocalExecutor, order: Describe | Execute) -> Answer:
        if isinstance(order, Describe):
            await self._provide(executor, order.framework)
            return Described(number=order.number, info=await executor.describe(order.framework))
        await self._provide(executor, order.spec.key.framework)
        found = await executor.execute(order.spec)
        return Executed(number=order.number, outcome=found.outcome() if isinstance(found, LostTrial) else found)

    async def _provide(self, executor: LocalExecutor, framework: str) -> None:
        lock = self._setup.locks.get(framework)
        if lock is None or framework in executor.environments:
            return
        # The places of one node build an environment once: whoever comes later finds it.
        async with self._building[framework]:
            # Imported here: most places build none, and each begins with a process of its own.
            from trialbed.environments import EnvironmentStore, locked_environment

            store = EnvironmentStore(env_dir())
            executor.environments[framework] = await locked_environment(framework, lock, store)


def _drop_secrets() -> None:
    """Forget the keys that whoever started the node had in the environment."""
    kept = worker_environment("")
    own = {name for name in os.environ if name.startswith(OWN)}
    for name in os.environ.keys() - kept.keys() - own:
        del os.environ[name]
