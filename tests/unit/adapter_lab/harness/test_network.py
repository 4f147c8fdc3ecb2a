"""Seeing who is talked to."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import httpx
import pytest
from support.cases import for_each

from trialbed_adapter_lab import NetworkWatch


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()


def test_connections_are_noted_once_and_those_expected_are_left_out(server):
    with NetworkWatch() as watch:
        for _ in range(2):
            socket.create_connection(server).close()
    assert watch.contacts() == [f"connection to 127.0.0.1:{server[1]}"]
    assert watch.contacts(server) == []


@pytest.mark.parametrize("look_up", [socket.gethostbyname, lambda name: socket.getaddrinfo(name, 443)])
def test_look_ups_are_noted(look_up):
    with NetworkWatch() as watch, contextlib.suppress(OSError):
        look_up("home.invalid")
    assert watch.contacts() == ["look-up of home.invalid"]


@for_each("name", ["localhost", "127.0.0.1", "::1", b"localhost"])
def test_the_machines_own_names_are_no_contact(name):
    with NetworkWatch() as watch, contextlib.suppress(OSError):
        socket.getaddrinfo(name, None)
    assert watch.contacts() == []


def test_datagrams_are_noted(server):
    with NetworkWatch() as watch, socket.socket(type=socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", 9))
    assert watch.contacts() == ["connection to 127.0.0.1:9"]


def test_what_asyncio_and_httpx_connect_to_is_noted(server):
    async def connect():
        _, writer = await asyncio.open_connection(*server)
        writer.close()
        await writer.wait_closed()

    with NetworkWatch() as watch:
        asyncio.run(connect())
    assert watch.contacts() == [f"connection to 127.0.0.1:{server[1]}"]
    client = httpx.Client(trust_env=False, timeout=0.1)
    with NetworkWatch() as watch, client, contextlib.suppress(httpx.HTTPError):
        client.get(f"http://127.0.0.1:{server[1]}")
    assert watch.contacts() == [f"connection to 127.0.0.1:{server[1]}"]


def test_nothing_is_noted_before_and_after(server):
    socket.create_connection(server).close()
    with NetworkWatch() as watch:
        pass
    socket.create_connection(server).close()
    assert watch.contacts() == []


def test_local_sockets_are_no_network(tmp_path):
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as client:
        listening.bind(path)
        listening.listen()
        with NetworkWatch() as watch:
            client.connect(path)
    assert watch.contacts() == []
