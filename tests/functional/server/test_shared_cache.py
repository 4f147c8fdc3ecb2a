"""Servers of one cache."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.servers import Serve, until, virtual

import trialbed_server.simulators.registry
from trialbed.contracts import Simulation, Simulator
from trialbed.records import Api


class Counting(Simulator):
    """Answers when the test lets it, and counts."""

    provenance: ClassVar[str] = "counting"
    gate: ClassVar[threading.Event]
    asked: ClassVar[list[str]]

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Any]) -> Simulation:
        self.asked.append(ref)
        await until(self.gate.is_set)  # in a loop of its own
        return Simulation(response=f"answer {len(self.asked)}")


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> type[Counting]:
    Counting.gate, Counting.asked = threading.Event(), []
    monkeypatch.setattr(trialbed_server.simulators.registry, "load_driver", lambda kind, name: Counting)
    return Counting


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return f"sqlite:///{tmp_path / 'responses.db'}"


async def test_all_servers_of_a_cache_give_the_answer_that_is_kept(
    serve: Serve, counting: type[Counting], location: str
) -> None:
    clients = [await serve(cache=location, simulator="counting") for _ in range(2)]
    asking = [asyncio.ensure_future(client.post("/virtual", json=virtual())) for client in clients * 5]
    await until(lambda: len(counting.asked) == 2)
    counting.gate.set()
    replies = {(await reply).json()["response"] for reply in asking}
    assert len(replies) == 1
    for client in clients:
        assert (await client.post("/virtual", json=virtual())).json()["response"] in replies
    assert len(counting.asked) == 2
