"""Requests that do not arrive, or never end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.servers import listening

from trialbed_server import ServerOptions, create_app
from trialbed_server._connections import BoundedProtocol, JoiningTransport

HALF_A_BODY = b"POST /virtual HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"


class Impatient(BoundedProtocol):
    """The server's protocol, which waits less."""

    head_seconds = 0.1
    body_seconds = 0.1


class Patient(BoundedProtocol):
    """The server's protocol, for which a slow machine is never too slow."""

    head_seconds = 600.0
    body_seconds = 600.0


@asynccontextmanager
async def connection(
    folder: Path, protocol: type[BoundedProtocol]
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    app = create_app(ServerOptions(cache=str(folder / "responses.db")))
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
    async with connection(tmp_path, Impatient) as (reader, writer):
        writer.write(sent)
        answer = await reader.read()
    assert b"HTTP/1.1 408 Request Timeout" in answer
    assert answer.endswith(b"the %s of the request did not arrive within 0.1 s" % part)


async def test_empty_lines_do_not_keep_a_connection_after_its_answer(tmp_path: Path) -> None:
    async with connection(tmp_path, Impatient) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await reader.readuntil(b"}")
        writer.write(b"\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 408 ")


async def test_a_head_without_end_is_refused(tmp_path: Path) -> None:
    async with connection(tmp_path, Patient) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        answering = asyncio.ensure_future(reader.read())
        while not answering.done():
            writer.write(b"x" * 8192)
            await asyncio.wait([answering], timeout=0.001)
        assert (await answering).startswith(b"HTTP/1.1 431 ")


async def test_a_request_that_arrives_in_pieces_is_answered_and_its_connection_kept(tmp_path: Path) -> None:
    async with connection(tmp_path, Patient) as (reader, writer):
        for _ in range(2):
            for piece in (b"GET /hea", b"lthz HTTP/1.1\r\nHo", b"st: localhost\r\n\r", b"\n"):
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.split(b":")[1]))


async def test_a_head_and_its_body_are_sent_together_and_nothing_large_is_held() -> None:
    happened: list[object] = []
    inner = SimpleNamespace(write=happened.append, is_closing=lambda: False, close=lambda: happened.append("closed"))
    transport = JoiningTransport(cast("Any", inner))
    transport.write(b"head")
    transport.write(b"body")
    assert happened == []
    await asyncio.sleep(0)
    assert happened == [b"headbody"]
    large = b"x" * 100_000
    transport.write(large)
    transport.write(b"rest")
    transport.close()
    await asyncio.sleep(0)
    assert happened[1:] == [large, b"rest", "closed"]
