"""Requests that do not arrive, or never end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.servers import listening

from trialbed_server import ServerOptions, create_app

HALF_A_BODY = b"POST /virtual HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"


SHORT, LONG = 0.1, 600.0
"""Seconds that a server waits for a request; the second is enough for any machine."""


@asynccontextmanager
async def connection(folder: Path, seconds: float) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    app = create_app(ServerOptions(cache=str(folder / "responses.db")))
    protocol = type("Waiting", (app.protocol,), {"head_seconds": seconds, "body_seconds": seconds})
    async with listening(app, lifespan="on", http=protocol) as url, asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        try:
            yield reader, writer
        finally:
            writer.close()


@pytest.mark.parametrize(
    ("sent", "part"),
    [
        (b"", b"head"),
        (b"\r\n\r\n", b"head"),
        (b"POST /virtual HTTP/1.1\r\nHost: loc", b"head"),
        (HALF_A_BODY, b"body"),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /heal", b"head"),
    ],
    ids=["nothing", "empty lines", "half a head", "half a body", "half a second head"],
)
async def test_a_connection_whose_request_does_not_arrive_is_ended(tmp_path: Path, sent: bytes, part: bytes) -> None:
    async with connection(tmp_path, SHORT) as (reader, writer):
        writer.write(sent)
        answer = await reader.read()
    assert b"HTTP/1.1 408 Request Timeout" in answer
    assert answer.endswith(b"the %s of the request did not arrive within 0.1 s" % part)


async def test_a_head_without_end_is_refused(tmp_path: Path) -> None:
    async with connection(tmp_path, LONG) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        answering = asyncio.ensure_future(reader.read())
        while not answering.done():
            writer.write(b"x" * 8192)
            await asyncio.wait([answering], timeout=0.001)
        assert (await answering).startswith(b"HTTP/1.1 431 ")


async def test_a_request_that_arrives_in_pieces_is_answered_and_its_connection_kept(tmp_path: Path) -> None:
    async with connection(tmp_path, LONG) as (reader, writer):
        for _ in range(2):
            for piece in (b"GET /hea", b"lthz HTTP/1.1\r\nHo", b"st: localhost\r\n\r", b"\n"):
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.split(b":")[1]))
