"""The engine's HTTP: connections that are kept, lost, and cut."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from socket import gaierror

import pytest
from support.servers import until

from trialbed.engine._connections import Connections

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Peer:
    """Answers each request with the next of its answers: bytes to send, or None to close."""

    def __init__(self, *answers: bytes | None) -> None:
        self.answers = itertools.chain(answers, itertools.repeat(OK))
        self.requests: list[tuple[int, bytes]] = []
        self.connections = self.open = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        number = self.connections
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length")), 0)
                self.requests.append((number, head + await reader.readexactly(length)))
                await self.gate.wait()
                answer = next(self.answers)
                if answer is None:
                    break
                writer.write(answer)
                if b"close" in answer:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()


@asynccontextmanager
async def connected(
    *answers: bytes | None, seconds: float = 30, form: Callable[[int], str] = "http://127.0.0.1:{}".format
) -> AsyncIterator[tuple[Connections, Peer]]:
    peer = Peer(*answers)
    async with await asyncio.start_server(peer, "127.0.0.1", 0) as listener:
        url = form(listener.sockets[0].getsockname()[1])
        async with Connections(url, timeout=seconds) as connections:
            yield connections, peer
        await until(lambda: not peer.open)


async def test_a_connection_serves_one_request_after_the_other() -> None:
    async with connected() as (connections, peer):
        for _ in range(3):
            assert (await connections.request("POST", "/a", b"{}")).body == b"ok"
        assert [number for number, _ in peer.requests] == [1, 1, 1]
        peer.gate.clear()
        several = [asyncio.create_task(connections.request("GET", "/b")) for _ in range(3)]
        await until(lambda: len(peer.requests) == 6)
        peer.gate.set()
        await asyncio.gather(*several)
        assert peer.connections == 3


async def test_what_is_sent_says_what_a_server_needs() -> None:
    async with connected(form="http://user:pass%20word@127.0.0.1:{}/bench/".format) as (connections, peer):
        await connections.request("POST", "/control/trials", b'{"a": 1}')
        await connections.request("PUT", "/control/trials/t")
    (_, first), (_, second) = peer.requests
    head, _, body = first.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /bench/control/trials HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"Content-Type: application/json" in head
    assert b"Authorization: Basic " + base64.b64encode(b"user:pass word") in head
    assert body == b'{"a": 1}'
    assert b"\r\nContent-Length: 0\r\n" in second
    async with connected() as (connections, peer), Connections(connections._url, "the-token", timeout=30) as others:
        await others.request("GET", "/")
    assert b"\r\nAuthorization: Bearer the-token\r\n" in peer.requests[0][1]


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (b"HTTP/1.1 404 Not Found\r\nX-Name: v\r\nContent-Length: 2\r\n\r\nok", True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n", True),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK, True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", False),
        (OK + b"HTTP/1.1 408 Too Late\r\nContent-Length: 0\r\n\r\n", False),
    ],
    ids=["status", "chunked", "announced", "until the end", "HTTP/1.0", "more than was asked for"],
)
async def test_answers_of_all_forms_are_read(answer: bytes, kept: bool) -> None:
    async with connected(answer) as (connections, peer):
        reply = await connections.request("GET", "/")
        assert reply.body == b"ok"
        assert reply.headers.get(b"x-name", b"v") == b"v"
        await asyncio.sleep(0.01)
        assert (await connections.request("GET", "/")).status == 200
        assert peer.connections == (1 if kept else 2)


async def test_a_connection_that_was_lost_is_replaced_and_only_safe_requests_are_repeated() -> None:
    async with connected(OK, None, OK, OK, None) as (connections, peer):
        await connections.request("GET", "/")
        assert (await connections.request("DELETE", "/")).body == b"ok"
        assert [number for number, _ in peer.requests] == [1, 1, 2]
        await connections.request("GET", "/")
        with pytest.raises(ConnectionResetError, match="closed the connection"):
            await connections.request("POST", "/", b"{}")
        assert (await connections.request("POST", "/", b"{}")).body == b"ok"
        assert [number for number, _ in peer.requests] == [1, 1, 2, 2, 2, 3]


async def test_a_connection_that_was_idle_for_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected() as (connections, peer):
        await connections.request("GET", "/")
        monkeypatch.setattr("trialbed.engine._connections.IDLE", 0.0)
        await connections.request("GET", "/")
        assert peer.connections == 2


@pytest.mark.parametrize(
    "answer",
    [None, b"\x16\x03\x01 no HTTP", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nok"],
    ids=["nothing", "something else", "half of it"],
)
async def test_what_is_no_answer_is_an_error(answer: bytes | None) -> None:
    async with connected(answer, answer) as (connections, _):
        with pytest.raises(ConnectionError):
            await connections.request("GET", "/")
        assert not connections._idle


async def test_a_request_that_takes_too_long_or_is_given_up_ends_its_connection() -> None:
    async with connected(seconds=0.05) as (connections, peer):
        peer.gate.clear()
        with pytest.raises(TimeoutError):
            await connections.request("GET", "/")
        peer.gate.set()
        assert (await connections.request("GET", "/")).body == b"ok"
        assert peer.connections == 2


@pytest.mark.parametrize(
    "url", ["127.0.0.1:9", "ftp://127.0.0.1", "http://", "http://a..b", "http://h:99999", "http://127.0.0.1:1"]
)
async def test_an_address_at_which_there_is_no_server_is_an_error(url: str) -> None:
    async with Connections(url, timeout=30) as connections:
        with pytest.raises((ConnectionError, gaierror)):
            await connections.request("GET", "/")
