"""A connection that a client keeps is never dropped by the server first."""

from __future__ import annotations

import http.client
import json
import select
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

CLIENTS_KEEP_IDLE_CONNECTIONS_FOR = 5.0  # seconds: httpx's default, which the SDKs of the frameworks share


def test_an_idle_connection_outlives_what_clients_keep(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "trialbed_server",
        "--port",
        "0",
        "--watch-stdin",
        "--cache",
        str(tmp_path / "c.db"),
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        url = urlsplit(json.loads(process.stdout.readline())["url"])
        client = http.client.HTTPConnection(str(url.hostname), url.port)
        client.request("GET", "/healthz")
        assert json.loads(client.getresponse().read())["status"] == "ok"
        readable, _, _ = select.select([client.sock], [], [], CLIENTS_KEEP_IDLE_CONNECTIONS_FOR + 1)
        assert not readable, "the server closed the connection"
        client.close()
        process.stdin.close()
        assert process.wait(timeout=20) == 0
