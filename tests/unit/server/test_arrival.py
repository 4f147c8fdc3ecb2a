"""Requests that do not arrive."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from trialbed_scripted import serve
from trialbed_server._connections import BoundedConnection

CONNECTION = "trialbed_server._connections.BoundedConnection"
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "q"}]}).encode()
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(BODY)


@asynccontextmanager
async def connection() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    async with serve(guard=BoundedConnection) as faults, asyncio.timeout(60):
        port = int(faults.url.removesuffix("/v1").rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            yield reader, writer
        finally:
            writer.close()


@pytest.mark.parametrize(
    ("sent", "part"),
    [(b"", b"head"), (HEAD[:20], b"head"), (HEAD + BODY[:-1], b"body")],
    ids=["nothing", "half a head", "half a body"],
)
async def test_a_connection_whose_request_does_not_arrive_is_ended(
    monkeypatch: pytest.MonkeyPatch, sent: bytes, part: bytes
) -> None:
    monkeypatch.setattr(f"{CONNECTION}.{part.decode()}_seconds", 0.1)
    async with connection() as (reader, writer):
        writer.write(sent)
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert answer.endswith(b"the %s of the request did not arrive within 0.1 s" % part)


async def test_half_a_second_request_ends_the_connection_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connection() as (reader, writer):
        writer.write(HEAD + BODY)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 OK\r\n")
        await reader.readuntil(b"usage")
        monkeypatch.setattr(f"{CONNECTION}.body_seconds", 0.1)
        writer.write(HEAD + BODY[:-1])
        rest = await reader.read()
    assert b"HTTP/1.1" not in rest


async def test_a_request_that_arrives_in_pieces_is_answered() -> None:
    head = HEAD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    async with connection() as (reader, writer):
        for piece in (head[:10], head[10:], BODY[:5], BODY[5:]):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        assert (await reader.read()).startswith(b"HTTP/1.1 200 OK\r\n")
