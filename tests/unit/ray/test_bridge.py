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
from trialbed_ray._messages import Ask, Connect, Lose, PlaceSetup, Shun


class RayTaskError(Exception):
    """What a method of an actor raised."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class RayActorError(Exception):
    """The death of an actor."""


DEATH = """The actor died unexpectedly before finishing this task.
\tclass_name: Place
\tactor_id: 9a5ea3bd8ad6f0b1d2f4e8c601000000
The actor is dead because its worker process has died. Worker exit detail: End of file. Some common causes include: \
(1) the process was killed by the OOM killer due to high memory usage, (2) ray stop --force was called."""


class Method:
    """A method of an actor."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.remote = lambda *given: asyncio.ensure_future(call(*given))


class Actor:
    """A place on a node."""

    def __init__(self, events: list[str], node: str, room: asyncio.Semaphore, death: Exception) -> None:
        self.events = events
        self.death = death
        self.node, self.room = node, room
        self.gone = asyncio.Event()
        self.open, self.live = Method(self._open), Method(self._live)
        self.execute, self.close = Method(self._execute), Method(self._close)

    async def _open(self) -> str:
        await self.room.acquire()
        return self.node

    async def _live(self) -> None:
        await self.gone.wait()
        raise self.death

    async def _execute(self, what: str) -> str:
        if what == "full disk":
            raise RayTaskError(OSError("no space left"))
        if what == "lost result":
            raise RuntimeError("the result was lost")
        return "done"

    async def _close(self) -> None:
        await asyncio.sleep(0.05)
        self.events.append("closed")


class Played:
    """A Ray, whose first actor cannot be made."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.made = 0
        self.places = 1
        self.room = asyncio.Semaphore(99)
        self.death: Exception = RuntimeError("it was killed")
        self.asked: list[dict[str, Any]] = []
        self.bridge: Callable[[int], Any]
        self.util = SimpleNamespace(get_node_ip_address=lambda: "10.0.0.7")

    def remote(self, **_: Any) -> Callable[[type], Any]:
        return lambda _: SimpleNamespace(options=self._options)

    def _options(self, **given: Any) -> Any:
        self.asked.append(given)
        node = "10.0.0.9/5822aaffee" if "label_selector" in given else "10.0.0.8/4711aaffee"
        return SimpleNamespace(remote=lambda setup: self._make(setup, node))

    def _make(self, setup: str, node: str) -> Actor:
        assert json.loads(setup)["locks"] == {}
        self.made += 1
        if self.made == 1:
            raise RuntimeError("no answer of the head")
        return Actor(self.events, node, self.room, self.death)

    def kill(self, actor: Actor) -> None:
        self.events.append("killed")
        actor.gone.set()
        self.room.release()


class Served:
    """A bridge, and what it says."""

    def __init__(self, reader: asyncio.StreamReader, said: asyncio.StreamReader) -> None:
        self._reader, self._said = reader, said

    def execute(self, place: int, what: str) -> None:
        self.send(Ask(number=place, place=place, method="execute", argument=what))

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
    running = asyncio.create_task(played.bridge(out).run(reader))
    try:
        yield Served(reader, said)
    finally:
        reader.feed_eof()
        async with asyncio.timeout(60):
            await running
        transport.close()
        os.close(out)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    found = Played()
    errors = SimpleNamespace(RayTaskError=RayTaskError, RayActorError=RayActorError)
    # Ray itself leaves threads and warnings behind, and is not installed everywhere.
    monkeypatch.setitem(sys.modules, "ray", found)
    monkeypatch.setitem(sys.modules, "ray.exceptions", errors)
    monkeypatch.delitem(sys.modules, "trialbed_ray.bridge", raising=False)
    module = importlib.import_module("trialbed_ray.bridge")
    monkeypatch.setattr(module, "PAUSES", (0.0,))
    found.bridge = lambda out: module.Bridge(Connect(places=found.places, cpus=1, memory=1, setup=PlaceSetup()), out)
    yield found
    del sys.modules["trialbed_ray.bridge"]


async def test_a_place_that_cannot_be_used_is_made_again(played: Played) -> None:
    async with served(played) as one:
        assert (await one.next())["type"] == "connected"
        assert await one.next() == {"type": "gone", "place": 1, "reason": "no answer of the head"}
        for place, what in ((2, "full disk"), (3, "lost result")):
            assert await one.next() == {"type": "open", "place": place, "node": "10.0.0.8/4711aa"}
            one.execute(place, "work")
            assert (await one.next())["result"] == "done"
            one.execute(place, what)
            answer = await one.next()
            assert (answer["error"], answer["lost"] != "") == (("OSError", False), ("", True))[place - 2]
            assert await one.next() == {"type": "gone", "place": place, "reason": "it was killed"}
        assert (await one.next())["place"] == 4
    assert played.made == 4


async def test_a_death_is_told_in_words_without_guesses(played: Played) -> None:
    played.death = RayActorError(DEATH)
    async with served(played) as one:
        while (found := await one.next())["type"] != "open":
            """Not yet."""
        one.send(Lose(node=found["node"]))
        gone = await one.next()
    assert gone["reason"] == (
        "its actor died unexpectedly before finishing this task. "
        "its actor is dead because its worker process has died. Worker exit detail: End of file"
    )


async def test_a_node_that_is_shunned_gets_no_places(played: Played) -> None:
    async with served(played) as one:
        while (found := await one.next())["type"] != "open":
            """Not yet."""
        one.send(Shun(place=found["place"]))
        one.send(Shun(place=99))
        assert (await one.next())["type"] == "gone"
        assert (await one.next())["type"] == "open"
    assert played.asked[-1] == {"label_selector": {"ray.io/node-id": "!in(4711aaffee)"}}
    assert played.asked[0] == {}


async def test_a_node_that_is_shunned_gets_none_that_waited_for_room(played: Played) -> None:
    played.places, played.room = 2, asyncio.Semaphore(1)
    async with served(played) as one:
        while (found := await one.next())["type"] != "open":
            """Not yet."""
        while played.made < 3:  # noqa: ASYNC110 - the bridge announces nothing then
            await asyncio.sleep(0)
        one.send(Shun(place=found["place"]))
        while (found := await one.next())["type"] != "open":
            """Not yet."""
        assert found["node"] == "10.0.0.9/5822aa"


async def test_places_end_their_workers_before_they_are_killed(played: Played) -> None:
    async with served(played) as one:
        while (await one.next())["type"] != "open":
            """Not yet."""
    await asyncio.sleep(0)
    assert played.events == ["closed", "killed"]
