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

from trialbed.records import Record
from trialbed.worker import message_line
from trialbed_ray._messages import Connect, EndPlace, MakePlace, PlaceSetup


class RayActorError(Exception):
    """The death of an actor."""


DEATH = """The actor died unexpectedly before finishing this task.
\tclass_name: Place
\tactor_id: 9a5ea3bd8ad6f0b1d2f4e8c601000000
The actor is dead because its worker process has died. Worker exit detail: End of file. Some common causes include: \
(1) the process was killed by the OOM killer due to high memory usage, (2) ray stop --force was called."""


class Actor:
    """A place on a node."""

    def __init__(self, events: list[str], death: Exception) -> None:
        self.events = events
        self.death = death
        self.ended = asyncio.Event()
        self.killed = False
        self.serve = SimpleNamespace(remote=lambda *given: asyncio.ensure_future(self._serve(*given)))

    async def _serve(self, host: str, port: int, token: str) -> None:
        self.events.append(f"serves {token} at {host}:{port}")
        await self.ended.wait()
        if self.killed:
            raise self.death
        await asyncio.sleep(0.05)
        self.events.append("has ended its workers")


class Played:
    """A Ray, whose first actor cannot be made."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.actors: list[Actor] = []
        self.made = 0
        self.death: Exception = RuntimeError("it was killed")
        self.kills = True
        self.bridge: Callable[[int], Any]
        self.util = SimpleNamespace(get_node_ip_address=lambda: "10.0.0.7")

    def remote(self, **_: Any) -> Callable[[type], Any]:
        return lambda _: SimpleNamespace(remote=self._make)

    def _make(self, setup: str) -> Actor:
        assert json.loads(setup)["locks"] == {}
        self.made += 1
        if self.made == 1:
            raise RuntimeError("no answer of the head")
        self.actors.append(Actor(self.events, self.death))
        return self.actors[-1]

    def kill(self, actor: Actor) -> None:
        if not actor.ended.is_set():
            self.events.append("killed")
        if self.kills:
            actor.killed = True
            actor.ended.set()


class Served:
    """A bridge, and what it says."""

    def __init__(self, bridge: Any, reader: asyncio.StreamReader, said: asyncio.StreamReader) -> None:
        self._reader, self._said = reader, said
        self.bridge = bridge

    def make(self, place: int) -> None:
        self.send(MakePlace(place=place, host="10.0.0.7", port=7, token=f"token-{place}"))

    def send(self, message: Record) -> None:
        self._reader.feed_data(message_line(message))

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(60):
            found: dict[str, Any] = json.loads(await self._said.readline())
            return found


@asynccontextmanager
async def served(played: Played) -> AsyncIterator[Served]:
    end, out = os.pipe()
    reader, said = asyncio.StreamReader(), asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(said), os.fdopen(end, "rb")
    )
    bridge = played.bridge(out)
    running = asyncio.create_task(bridge.run(reader))
    try:
        yield Served(bridge, reader, said)
    finally:
        reader.feed_eof()
        async with asyncio.timeout(60):
            await running
        transport.close()
        os.close(out)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    found = Played()
    errors = SimpleNamespace(RayActorError=RayActorError)
    # Ray itself leaves threads and warnings behind, and is not installed everywhere.
    monkeypatch.setitem(sys.modules, "ray", found)
    monkeypatch.setitem(sys.modules, "ray.exceptions", errors)
    monkeypatch.delitem(sys.modules, "trialbed_ray.bridge", raising=False)
    module = importlib.import_module("trialbed_ray.bridge")
    monkeypatch.setattr(module, "LAST", 1.0)
    found.bridge = lambda out: module.Bridge(Connect(cpus=1, memory=1, setup=PlaceSetup()), out)
    yield found
    del sys.modules["trialbed_ray.bridge"]


async def started(one: Served) -> None:
    """Have a place made that cannot be, and another one."""
    assert await one.next() == {"type": "connected", "host": "10.0.0.7"}
    one.make(1)
    assert await one.next() == {"type": "gone", "place": 1, "reason": "no answer of the head"}
    one.make(2)


async def test_places_are_made_and_their_ends_are_told(played: Played) -> None:
    async with served(played) as one:
        await started(one)
        one.make(3)
        one.send(EndPlace(place=99))
        one.send(EndPlace(place=3))
        assert await one.next() == {"type": "gone", "place": 3, "reason": "it was killed"}
        played.actors[0].ended.set()
        assert await one.next() == {"type": "gone", "place": 2, "reason": "its node has ended it"}
        kept = {name: value for name, value in vars(one.bridge).items() if isinstance(value, (dict, set, list))}
        assert kept
        assert not any(kept.values()), "of places that are gone"
    assert "serves token-2 at 10.0.0.7:7" in played.events


async def test_a_death_is_told_in_words_without_guesses(played: Played) -> None:
    played.death = RayActorError(DEATH)
    async with served(played) as one:
        await started(one)
        one.send(EndPlace(place=2))
        gone = await one.next()
    assert gone["reason"] == (
        "its actor died unexpectedly before finishing this task. "
        "its actor is dead because its worker process has died. Worker exit detail: End of file"
    )


async def test_places_end_their_workers_before_they_are_killed(played: Played) -> None:
    async with served(played) as one:
        await started(one)
        one.make(3)
        while len(played.actors) < 2:  # noqa: ASYNC110 - the bridge announces nothing then
            await asyncio.sleep(0)
        played.actors[0].ended.set()  # the engine hangs up on one of them
    await asyncio.sleep(0)
    assert played.events[2:] == ["has ended its workers", "killed"]


async def test_places_that_were_to_end_are_not_waited_for(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed_ray.bridge.LAST", 3600.0)
    played.kills = False
    async with served(played) as one:
        await started(one)
        one.send(EndPlace(place=2))
    assert played.events[-1] == "killed"
