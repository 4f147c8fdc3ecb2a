"""Answers from memory, for which no task is started."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send
from support.servers import TRIAL, listening, registration, until, virtual

from trialbed.records import FaultPlan
from trialbed_server import ServerOptions, create_app
from trialbed_server._connections import LARGEST

HIT, OTHER = virtual(), virtual({"city": "Paris"})


class Served:
    """A server whose application says how many requests it was given."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.app = create_app(ServerOptions(cache=str(folder / "responses.db"), **options))
        self.tasks = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.tasks += scope["type"] == "http"
        await self.app(scope, receive, send)


@asynccontextmanager
async def served(folder: Path, **options: Any) -> AsyncIterator[tuple[Served, httpx.AsyncClient]]:
    """A server that has answered once what is then asked for, and a client."""
    app = Served(folder, **options)
    async with listening(app, lifespan="on", http=app.app.protocol) as url, httpx.AsyncClient(base_url=url) as client:
        assert (await client.post("/virtual", json=HIT)).status_code == 200
        app.tasks = 0
        yield app, client


def sent(document: Any, *headers: bytes, version: bytes = b"1.1") -> bytes:
    body = json.dumps(document).encode()
    lines = [b"POST /virtual HTTP/%b" % version, b"Host: localhost", b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


async def answers(client: httpx.AsyncClient, count: int, *pieces: bytes) -> list[dict[str, Any]]:
    """The documents that come for bytes that are written piece by piece on one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", client.base_url.port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        found = []
        for _ in range(count):
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            if head.startswith(b"http/1.1 100"):
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
            assert head.startswith(b"http/1.1 200 ok\r\n")
            length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length:"))
            found.append(json.loads(await reader.readexactly(int(length.split(b":")[1]))))
        return found
    finally:
        writer.close()


async def test_a_hit_is_answered_as_by_the_application_and_without_it(tmp_path: Path) -> None:
    async with served(tmp_path) as (app, client):
        by_task = await client.post("/virtual", json=HIT, headers={"Connection": "close"})
        assert app.tasks == 1
        at_once = await client.post("/virtual", json=HIT)
        assert app.tasks == 1
        assert at_once.json() == by_task.json()
        assert {**by_task.headers, "date": ""} == {**at_once.headers, "date": "", "connection": "close"}
        noted = (await client.get("/control/untagged")).json()
        assert noted["api_requests"] == 3
        assert [call["provenance"] for call in noted["api_calls"]] == ["template", *["cache:template"] * 2]
        assert 'trialbed_virtual_requests_total{outcome="hit"} 2.0' in (await client.get("/metrics")).text


async def test_requests_that_come_together_are_answered_in_their_order(tmp_path: Path) -> None:
    async with served(tmp_path) as (app, client):
        hit, other = [(await client.post("/virtual", json=document)).json() for document in (HIT, OTHER)]
        missed = virtual({"city": "Rome"})
        app.tasks = 0
        found = await answers(client, 4, sent(HIT) + sent(missed) + sent(OTHER) + sent(HIT))
        assert (found[0], found[2], found[3]) == (hit, other, hit)
        assert found[1] == (await client.post("/virtual", json=missed)).json()
        assert app.tasks == 1


async def test_a_request_in_pieces_is_answered_at_once_when_it_is_complete(tmp_path: Path) -> None:
    async with served(tmp_path) as (app, client):
        request = sent(HIT)
        pieces = [request[:9], request[9:-30], request[-30:-1], request[-1:] + request[:40], request[40:]]
        assert len(await answers(client, 2, *pieces)) == 2
        assert app.tasks == 0


@pytest.mark.parametrize(
    "request_",
    [
        sent(HIT, b"Expect: 100-continue"),
        sent(HIT, version=b"1.0"),
        sent(HIT, b"Connection: close"),
    ],
    ids=["it expects a 100", "HTTP/1.0", "the connection ends with it"],
)
async def test_what_asks_for_more_than_an_answer_goes_to_the_application(tmp_path: Path, request_: bytes) -> None:
    async with served(tmp_path) as (app, client):
        assert len(await answers(client, 1, request_)) == 1
        assert app.tasks == 1


async def test_a_large_request_goes_to_the_application_before_it_is_complete(tmp_path: Path) -> None:
    async with served(tmp_path) as (app, client):
        _, writer = await asyncio.open_connection("127.0.0.1", client.base_url.port)
        writer.write(sent({**HIT, "padding": "x" * LARGEST})[:LARGEST])
        await until(lambda: app.tasks == 1)
        writer.close()


async def test_what_is_not_a_hit_goes_to_the_application(tmp_path: Path) -> None:
    async with served(tmp_path, max_body=4000) as (app, client):
        miss = await client.post("/virtual", json=OTHER)
        assert (miss.status_code, miss.json()["error"]) == (200, "")
        for content, status in ((b"{", 422), (b"[]", 422), (b"x" * 5000, 413)):
            assert (await client.post("/virtual", content=content)).status_code == status
        foreign = await client.post("/virtual", json=HIT, headers={"Origin": "https://elsewhere.example"})
        assert foreign.status_code == 403
        assert (await client.get("/virtual")).status_code == 405
        assert app.tasks == 6


async def test_a_call_of_the_ambient_trial_is_recorded_there(tmp_path: Path) -> None:
    async with served(tmp_path) as (app, client):
        (await client.post("/control/trials", json=registration(ambient=True))).raise_for_status()
        await client.post("/virtual", json=HIT)
        assert app.tasks == 2
        assert len((await client.delete(f"/control/trials/{TRIAL}")).json()["api_calls"]) == 1


@pytest.mark.parametrize(
    "options",
    [{"rate_limit": 1000}, {"allow_origins": ["https://pages.example"]}, {"faults": FaultPlan()}],
    ids=["rates", "origins", "faults"],
)
async def test_a_server_that_looks_at_each_request_does_so(tmp_path: Path, options: dict[str, Any]) -> None:
    app = Served(tmp_path, **options)
    async with listening(app, lifespan="on", http=app.app.protocol) as url, httpx.AsyncClient(base_url=url) as client:
        for _ in range(2):
            assert (await client.post("/virtual", json=HIT)).status_code == 200
        assert app.tasks == 2


async def test_only_who_has_the_token_is_answered_at_once(tmp_path: Path) -> None:
    app = Served(tmp_path, token="a-token-of-16-bytes")
    own, wrong = ({"Authorization": f"Bearer {token}"} for token in ("a-token-of-16-bytes", "another-of-16-bytes"))
    async with listening(app, lifespan="on", http=app.app.protocol) as url, httpx.AsyncClient(base_url=url) as client:
        (await client.post("/virtual", json=HIT, headers=own)).raise_for_status()
        for headers in ({}, wrong):
            assert (await client.post("/virtual", json=HIT, headers=headers)).status_code == 401
        assert app.tasks == 3
        assert (await client.post("/virtual", json=HIT, headers=own)).status_code == 200
        assert app.tasks == 3
