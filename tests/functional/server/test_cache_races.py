"""Many writers on one cache file, in two server processes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from support.response_caches import cached
from support.servers import ServerProcess, virtual

from trialbed_server.response_store import Entry, Origin, ResponseStore
from trialbed_server.standard_names import canonical_json, request_key, requested_name

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
    kept = [(entry.input, entry.body) for entry in cached(tmp_path)]
    new = {canonical_json({"number": number}) for number in range(INPUTS)}
    assert {text for text, _ in kept} == new | {canonical_json(i) for i in old}
    assert len([text for text, found in kept if found == body]) == 1000
