"""Requests to a scripted model that do not arrive."""

from __future__ import annotations

import asyncio
import json

import pytest

from trialbed_scripted import ScriptedServer

BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "q"}]}).encode()
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(BODY)


class Impatient(ScriptedServer):
    """The server, which waits less."""

    HEAD_SECONDS = BODY_SECONDS = 0.1


async def ask(server: ScriptedServer, *pieces: bytes) -> bytes:
    async with server, asyncio.timeout(60):
        reader, writer = await asyncio.open_connection(*server.address)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        answer = await reader.read()
        writer.close()
        return answer


@pytest.mark.parametrize(
    ("sent", "answer"),
    [(b"", b""), (HEAD[:20], b""), (HEAD + BODY[:-1], b"HTTP/1.1 408 Request Timeout")],
    ids=["nothing", "half a head", "half a body"],
)
async def test_a_connection_whose_request_does_not_arrive_is_ended(sent: bytes, answer: bytes) -> None:
    assert (await ask(Impatient(), sent)).partition(b"\r\n")[0] == answer


async def test_a_request_that_arrives_in_pieces_is_answered() -> None:
    head = HEAD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    answer = await ask(ScriptedServer(), head[:10], head[10:], BODY[:5], BODY[5:])
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
