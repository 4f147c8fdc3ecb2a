"""Ray's driver of a run, with a Ray that is played."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest


class RayActorError(Exception):
    """The death of an actor."""


class Actor:
    """A place on a node."""

    def __init__(self, events: list[str]) -> None:
        self.events = events
        self.dead: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for name in ("open", "stay", "close", "call"):
            method = getattr(self, f"_{name}")
            setattr(
                self, name, SimpleNamespace(remote=lambda *given, method=method: asyncio.ensure_future(method(*given)))
            )

    def die(self, death: Exception) -> None:
        if not self.dead.done():
            self.dead.set_exception(death)

    async def _open(self) -> str:
        return "10.0.0.8/node"

    async def _stay(self) -> None:
        await asyncio.shield(self.dead)

    async def _close(self) -> None:
        self.events.append("has ended its workers")

    async def _call(self, method: str, query: str) -> tuple[str, str]:
        assert method == "execute"
        if query == "good":
            return "Outcome", "{}"
        await asyncio.shield(self.dead)
        raise AssertionError


class Played:
    """A Ray, whose first actor cannot be made."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.actors: list[Actor] = []
        self.made = 0
        self.bridge: Callable[[int], Any]
        self.util = SimpleNamespace(get_node_ip_address=lambda: "10.0.0.7")

    def remote(self, **_: Any) -> Callable[[type], Any]:
        return lambda _: SimpleNamespace(remote=self._make)

    def _make(self, **setup: Any) -> Actor:
        assert setup == {"locks": {}}
        self.made += 1
        if self.made == 1:
            raise RuntimeError("no answer of the head")
        self.actors.append(Actor(self.events))
        return self.actors[-1]

    def kill(self, actor: Actor) -> None:
        self.events.append("killed")
        actor.die(RuntimeError("it was killed"))


class Served:
    """A bridge, and what it says."""

    def __init__(self, reader: asyncio.StreamReader, said: asyncio.StreamReader) -> None:
        self._reader, self._said = reader, said

    def send(self, **message: Any) -> None:
        self._reader.feed_data(json.dumps(message).encode() + b"\n")

    def execute(self, call: int, place: int, query: str) -> None:
        self.send(call=call, place=place, method="execute", arguments=[query])

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(60):
            found: dict[str, Any] = json.loads(await self._said.readline())
            return found


@asynccontextmanager
async def served(played: Played) -> AsyncIterator[Served]:
    """A bridge with one place: the first that could be made is the second."""
    end, out = os.pipe()
    reader, said = asyncio.StreamReader(), asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(said), os.fdopen(end, "rb")
    )
    running = asyncio.create_task(played.bridge(out).run(reader))
    one = Served(reader, said)
    try:
        assert await one.next() == {"host": "10.0.0.7"}
        assert await one.next() == {"gone": 1, "reason": "no answer of the head"}
        assert await one.next() == {"opened": 2, "node": "10.0.0.8/node"}
        yield one
    finally:
        reader.feed_eof()
        async with asyncio.timeout(60):
            await running
        transport.close()
        os.close(out)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    found = Played()
    # Ray itself leaves threads and warnings behind, and is not installed everywhere.
    monkeypatch.setitem(sys.modules, "ray", found)
    monkeypatch.setitem(sys.modules, "ray.exceptions", SimpleNamespace(RayActorError=RayActorError))
    monkeypatch.delitem(sys.modules, "trialbed_ray.bridge", raising=False)
    module = importlib.import_module("trialbed_ray.bridge")
    monkeypatch.setattr(module, "PAUSES", (0.01, 3600.0))
    order = {"setup": {"locks": {}}, "places": 1, "cpus": 1, "memory": 1}
    found.bridge = lambda out: module.Bridge(order, out)
    yield found
    del sys.modules["trialbed_ray.bridge"]


async def test_a_place_that_is_gone_is_made_again_and_its_calls_are_lost(played: Played) -> None:
    async with served(played) as one:
        one.execute(1, 2, "good")
        assert await one.next() == {"answered": 1, "kind": "Outcome", "text": "{}"}
        one.execute(2, 2, "wait")
        one.send(end=99)
        one.send(end=2)
        ends = [await one.next(), await one.next()]
        assert {"lost": 2, "reason": "it was killed"} in ends
        assert {"gone": 2, "reason": "it was killed"} in ends
        one.execute(3, 2, "good")
        said = [await one.next(), await one.next()]
        assert {"lost": 3, "reason": "it was ended"} in said
        assert {"opened": 3, "node": "10.0.0.8/node"} in said


async def test_a_cluster_that_gives_no_places_any_more_is_given_up(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up = asyncio.Event()
    monkeypatch.setattr("trialbed_ray.bridge.RENEWAL", 0.02)
    monkeypatch.setattr("trialbed_ray.bridge.PAUSES", (0.01, 3600.0))
    monkeypatch.setattr("trialbed_ray.bridge._give_up", given_up.set)
    async with served(played) as one:
        monkeypatch.setattr("trialbed_ray.bridge.PAUSES", (3600.0, 3600.0))
        one.execute(1, 2, "good")
        await one.next()
        one.send(end=2)
        async with asyncio.timeout(60):
            await given_up.wait()
