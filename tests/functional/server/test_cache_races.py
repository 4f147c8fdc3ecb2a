"""Many writers on one cache file, in two server processes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.servers import ServerProcess, registration, virtual

from trialbed_server.cache import Entry, Origin, ResponseStore
from trialbed_server.cache.keys import canonical_json, request_key
from trialbed_server.standard_names import requested_name

pytestmark = pytest.mark.slow

WRITERS = 32
INPUTS = 200


async def test_32_writers_in_two_processes_lose_nothing(start: Callable[..., ServerProcess], tmp_path: Path) -> None:
    servers = [start(), start()]
    answers: dict[int, set[str]] = {number: set() for number in range(INPUTS)}

    async def write(writer: int) -> None:
        async with httpx.AsyncClient(base_url=servers[writer % 2].url, timeout=60) as client:
            # Each writer has its own part of the inputs and meets those of the others.
            for number in range(writer % 8, INPUTS, 8):
                reply = await client.post("/virtual", json=virtual({"number": number}))
                answers[number].add(json.dumps(reply.json()))

    await asyncio.gather(*(write(writer) for writer in range(WRITERS)))
    for server in servers:
        server.end()
    store = ResponseStore(str(tmp_path / "responses.db"))
    kept = store.inputs(requested_name("Weather", "Weather Now", "Current"))
    store.close()
    assert sorted(kept) == sorted(canonical_json({"number": number}) for number in range(INPUTS))
    assert {len(found) for found in answers.values()} == {1}


async def test_200_new_answers_join_1000_old_ones_and_survive_a_kill(
    start: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    name = requested_name("Weather", "Weather Now", "Current")
    old = [{"old": number} for number in range(1000)]
    body = json.dumps({"error": "", "response": "old"})
    store = ResponseStore(str(tmp_path / "responses.db"))
    store.add([Entry(request_key(name, i), name, canonical_json(i), body, Origin("imported")) for i in old])
    store.close()
    server = start()

    async def write(writer: int) -> None:
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
            for number in range(writer, INPUTS, WRITERS):
                assert (await client.post("/virtual", json=virtual({"number": number}))).json()["error"] == ""

    await asyncio.gather(*(write(writer) for writer in range(WRITERS)))
    server.process.kill()
    server.process.communicate()
    store = ResponseStore(str(tmp_path / "responses.db"))
    kept = [(entry.input, entry.body) for entry in store.all()]
    store.close()
    new = {canonical_json({"number": number}) for number in range(INPUTS)}
    assert {text for text, _ in kept} == new | {canonical_json(i) for i in old}
    assert len([text for text, found in kept if found == body]) == 1000


async def test_workers_share_an_address_and_their_answers(start: Callable[..., ServerProcess]) -> None:
    server = start(workers=2)
    seen: set[str] = set()

    async def ask(number: int) -> None:
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
            seen.add((await client.post("/virtual", json=virtual({"n": number % 4}))).text)

    await asyncio.gather(*(ask(number) for number in range(40)))
    assert len(seen) == 4
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        refused = await client.post("/control/trials", json=registration(ambient=True))
    assert (refused.status_code, "2 workers" in refused.json()["error"]) == (400, True)
    assert {await trial(server.url, f"token-of-a-trial-{number}") for number in range(6)} == {2}
    _, log = server.end()
    assert server.process.returncode == 0
    assert "Traceback" not in log


async def trial(url: str, token: str) -> int:
    """Open a trial, call an Api in it twice, and close it, each on a connection of its own; the calls in its log."""

    async def ask(method: str, path: str, body: Any = None) -> Any:
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            return (await client.request(method, path, json=body)).json()

    await ask("POST", "/control/trials", registration(trial=token))
    for _ in range(2):
        assert (await ask("POST", f"/t/{token}/virtual", virtual()))["error"] == ""
    return len((await ask("DELETE", f"/control/trials/{token}"))["api_calls"])


async def test_a_killed_server_leaves_what_it_answered(start: Callable[..., ServerProcess], tmp_path: Path) -> None:
    server = start()
    async with httpx.AsyncClient(base_url=server.url) as client:
        first = (await client.post("/virtual", json=virtual({"number": 1}))).json()
        server.process.kill()
        server.process.communicate()
    again = start(simulator="none")
    async with httpx.AsyncClient(base_url=again.url) as client:
        assert (await client.post("/virtual", json=virtual({"number": 1}))).json() == first
