"""Servers of one cache that are asked the same at the same time."""

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
from trialbed_server.response_store import ResponseStore


class Counting(Simulator):
    """Answers when the test lets it, and counts."""

    provenance: ClassVar[str] = "counting"
    gate: ClassVar[threading.Event]
    asked: ClassVar[list[str]]

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Any]) -> Simulation:
        self.asked.append(ref)
        await until(self.gate.is_set)  # in a loop of its own
        if arguments.get("city") == "nowhere":
            return Simulation(error="no such city")
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


async def test_an_answer_is_made_once_over_all_servers(serve: Serve, counting: type[Counting], location: str) -> None:
    clients = [await serve(cache=location, simulator="counting") for _ in range(2)]
    asking = [asyncio.ensure_future(client.post("/virtual", json=virtual())) for client in clients * 5]
    await until(lambda: counting.asked)
    counting.gate.set()
    replies = [(await reply).json() for reply in asking]
    assert replies == [{"error": "", "response": "answer 1"}] * 10
    assert len(counting.asked) == 1


async def test_a_failure_frees_the_call_for_the_others(serve: Serve, counting: type[Counting], location: str) -> None:
    clients = [await serve(cache=location, simulator="counting") for _ in range(2)]
    counting.gate.set()
    for client in clients * 2:
        reply = await client.post("/virtual", json=virtual({"city": "nowhere"}))
        assert reply.json()["error"] == "no such city"
    assert len(counting.asked) == 4


def test_a_claim_ends_with_its_owner_or_its_time(location: str) -> None:
    store = ResponseStore(location)
    assert [store.claim("c", "a", 60), store.claim("c", "b", 60), store.claim("c", "a", 60)] == [True, False, True]
    store.release("c", "b")
    assert not store.claim("c", "b", 60)
    store.release("c", "a")
    assert store.claim("c", "b", -1)
    assert store.claim("c", "a", 60)
    store.close()
