"""The adapter's process: its environment, and who it talks to."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket

import httpx
import pytest
from support.cases import for_each

from trialbed.worker import WORKER_MARK
from trialbed_adapter_lab import NetworkWatch, like_a_worker


def test_keys_and_endpoints_go_and_opt_outs_come(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://example.org")
    monkeypatch.delenv("DO_NOT_TRACK", raising=False)
    before = dict(os.environ)
    with like_a_worker():
        assert "OPENAI_API_KEY" not in os.environ
        assert "OPENAI_BASE_URL" not in os.environ
        assert os.environ["DO_NOT_TRACK"] == "1"
        assert WORKER_MARK not in os.environ
    assert dict(os.environ) == before


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()


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
