"""A connection that a client keeps is never dropped by the server first."""

from __future__ import annotations

import http.client
import json
import select
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from support.servers import ServerProcess

CLIENTS_KEEP_IDLE_CONNECTIONS_FOR = 5.0  # seconds: httpx's default, which the SDKs of the frameworks share


@pytest.mark.slow
def test_an_idle_connection_outlives_what_clients_keep(start: Callable[..., ServerProcess]) -> None:
    url = urlsplit(start().url)
    client = http.client.HTTPConnection(str(url.hostname), url.port)
    client.request("GET", "/healthz")
    assert json.loads(client.getresponse().read())["status"] == "ok"
    readable, _, _ = select.select([client.sock], [], [], CLIENTS_KEEP_IDLE_CONNECTIONS_FOR + 1)
    assert not readable, "the server closed the connection"
    client.close()
