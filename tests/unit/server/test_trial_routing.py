"""Trials on a server of several workers: whichever worker accepts a request, the one that has the trial answers it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
from support.servers import OFFERED, listening, registration, virtual

from trialbed.engine import ControlClient
from trialbed.records import TrialRegistration
from trialbed_server import ServerOptions, create_app
from trialbed_server._trial_routing import TrialRouting, WorkerPlace

WORKERS = 2
TOKENS = [f"token-of-a-trial-{number}" for number in range(8)]
MAX_BODY = 100_000


@pytest.fixture
async def workers(tmp_path: Path) -> AsyncIterator[list[httpx.AsyncClient]]:
    """A client of each worker of one server."""
    paths = tuple(str(tmp_path / str(number)) for number in range(WORKERS))
    options = ServerOptions(cache=str(tmp_path / "responses.db"), workers=WORKERS, max_body=MAX_BODY)
    async with AsyncExitStack() as stack:
        clients = []
        for number, path in enumerate(paths):
            app = TrialRouting(create_app(options), WorkerPlace(number, paths), MAX_BODY)
            url = await stack.enter_async_context(listening(app, lifespan="on"))
            # As in a server: a worker that closed connections first would do so just when another one uses them.
            await stack.enter_async_context(listening(app, lifespan="off", uds=path, timeout_keep_alive=600))
            clients.append(await stack.enter_async_context(httpx.AsyncClient(base_url=url, timeout=30)))
        yield clients


async def test_each_request_belongs_to_its_trial_whichever_worker_gets_it(workers: list[httpx.AsyncClient]) -> None:
    assert {WorkerPlace(0, ("a", "b")).owner(token) for token in TOKENS} == {0, 1}
    asked = {"model": "m", "messages": [{"role": "user", "content": "?"}], "tools": OFFERED, "stream": True}

    async def go(number: int, token: str) -> dict[str, object]:
        first, second = workers[number % 2], workers[(number + 1) % 2]
        opened = await first.post("/control/trials", json=registration(trial=token))
        assert (opened.status_code, opened.json()) == (201, {"trial": token})
        for worker in (first, second):
            reply = await worker.post(f"/t/{token}/virtual", json=virtual({"city": token}))
            assert (reply.status_code, reply.json()["error"]) == (200, ""), reply.text
            text = (await worker.post(f"/t/{token}/v1/chat/completions", json=asked)).text
            assert text.endswith("data: [DONE]\n\n")
        assert (await second.put(f"/control/trials/{token}")).status_code == 200
        closed = await second.delete(f"/control/trials/{token}")
        assert (await first.get(f"/control/trials/{token}")).status_code == 404
        found: dict[str, object] = closed.json()
        return found

    logs = await asyncio.gather(*(go(number, token) for number, token in enumerate(TOKENS)))
    for token, log in zip(TOKENS, logs, strict=True):
        assert log["trial"] == token
        calls, requests = log["api_calls"], log["model_calls"]
        assert isinstance(calls, list)
        assert isinstance(requests, list)
        assert [call["arguments"] for call in calls] == [{"city": token}] * 2
        assert len(requests) == 2


async def test_each_worker_learns_what_trials_share(workers: list[httpx.AsyncClient]) -> None:
    async with ControlClient(str(workers[0].base_url)) as control:
        for token in TOKENS:
            await control.open_trial(TrialRegistration.model_validate(registration(trial=token)), "a kind")
    for token in TOKENS:
        for worker in workers:
            reply = await worker.post(f"/t/{token}/virtual", json=virtual())
            assert (reply.status_code, reply.json()["error"]) == (200, "")
        (first, second) = (await workers[1].delete(f"/control/trials/{token}")).json()["api_calls"]
        assert first["offered"]
        assert second["offered"]


async def test_what_is_refused_is_refused_alike(workers: list[httpx.AsyncClient]) -> None:
    bodies = [b"", b"{", b"[]", b'{"trial": 5}', json.dumps(registration(trial="short")).encode()]
    for body in bodies:
        assert {(await worker.post("/control/trials", content=body)).status_code for worker in workers} == {422}
    large = json.dumps(registration(simulator="x" * MAX_BODY)).encode()
    assert {(await worker.post("/control/trials", content=large)).status_code for worker in workers} == {413}
    for worker in workers:
        refused = await worker.post("/control/trials", json=registration(ambient=True))
        assert (refused.status_code, "without --workers" in refused.json()["error"]) == (400, True)
        for token in TOKENS:
            unknown = await worker.post(f"/t/{token}/virtual?x=%2F", json=virtual())
            assert (unknown.status_code, "no trial has this token" in unknown.json()["error"]) == (404, True)
        assert (await worker.post("/virtual", json=virtual())).json()["error"] == ""


async def test_a_worker_that_is_gone_is_an_error_of_its_trials_alone(tmp_path: Path) -> None:
    paths = (str(tmp_path / "0"), str(tmp_path / "gone"))
    app = TrialRouting(
        create_app(ServerOptions(cache=str(tmp_path / "r.db"), workers=2)), WorkerPlace(0, paths), MAX_BODY
    )
    async with listening(app, lifespan="on") as url, httpx.AsyncClient(base_url=url) as client:
        lost = next(token for token in TOKENS if WorkerPlace(0, paths).owner(token) == 1)
        for path in (f"/t/{lost}/virtual", f"/t/{lost}/v1/chat/completions"):
            reply = await client.post(path, json={})
            assert (reply.status_code, "cannot be reached" in reply.text) == (503, True)
        kept = next(token for token in TOKENS if WorkerPlace(0, paths).owner(token) == 0)
        assert (await client.post("/control/trials", json=registration(trial=kept))).status_code == 201
