"""The server as a process: how it starts, what it writes, and how it ends."""

from __future__ import annotations

import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from support.servers import ServerProcess

pytestmark = pytest.mark.slow(20)


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


Start = Callable[..., ServerProcess]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_exit_code_0(start: Start, number: signal.Signals) -> None:
    server = start()
    server.process.send_signal(number)
    _, logs = server.process.communicate(timeout=60)
    assert server.process.returncode == 0
    assert "Traceback" not in logs


STUCK = """
import asyncio, sys
from trialbed_server import _process
from trialbed_server._options import ServerOptions

_process.PATIENCE = 0.5
start = _process._Server.startup

async def start_and_hang(self, sockets=None):
    await start(self, sockets)
    asyncio.get_running_loop().call_soon(lambda: [None for _ in iter(int, 1)])

_process._Server.startup = start_and_hang
_process.serve(ServerOptions(port=0, watch_stdin=True, cache="responses.db"))
"""


def test_it_ends_with_its_standard_input_though_a_request_holds_it_up(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STUCK]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        assert "url" in server.stdout.readline()
        server.stdin.close()
        assert server.wait(60) == 1


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="watching a stranger's end takes Linux")
def test_it_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = (
        "import subprocess, sys, time\n"
        'options = \'{"port": 0, "watch_stdin": true, "cache": "r.db"}\'\n'
        "command = [sys.executable, '-m', 'trialbed_server', options]\n"
        "p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)\n"
        "print(p.pid, p.stdout.readline(), flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout is not None
    pid = int(process.stdout.readline().split()[0])
    watched = os.pidfd_open(pid)
    process.kill()
    process.communicate()
    ended = select.select([watched], [], [], 20)[0]
    os.close(watched)
    assert ended


def failed_start(tmp_path: Path, options: dict[str, Any], **environment: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "trialbed_server", json.dumps({"port": 0, **options})]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, timeout=60, env={**os.environ, **environment}
    )
    return done.returncode, done.stdout, done.stderr


def test_a_file_that_is_no_cache_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "bad.db").write_text("this is not a database at all " * 50)
    code, output, error = failed_start(tmp_path, {"cache": "bad.db"})
    assert (code, output) == (2, "")
    assert "bad.db" in error
    assert "give another --response-cache" in error
    assert "Traceback" not in error


def test_an_address_beyond_loopback_without_a_token_is_refused(tmp_path: Path) -> None:
    code, _, error = failed_start(tmp_path, {"host": "0.0.0.0"}, TRIALBED_SERVER_TOKEN="")
    assert code == 2
    assert "TRIALBED_SERVER_TOKEN" in error


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_an_address_of_ipv6_is_printed_as_a_url(start: Start) -> None:
    server = start(host="::1")
    assert server.url.startswith("http://[::1]:")
    assert httpx.get(f"{server.url}/healthz").status_code == 200


def test_a_port_in_use_is_a_clear_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, error = failed_start(tmp_path, {"port": taken.getsockname()[1]})
    assert code == 3
    assert "choose another --port" in error
    assert "Traceback" not in error


@pytest.mark.parametrize("options", [{"datasets": ["absent"]}, {"simulator": "absent"}])
def test_a_driver_that_is_not_there_is_a_clear_error(tmp_path: Path, options: dict[str, Any]) -> None:
    code, _, error = failed_start(tmp_path, options)
    assert code == 2
    assert "'absent' is not installed" in error
    assert "Traceback" not in error


def test_an_idle_connection_outlives_what_clients_keep(start: Start) -> None:
    url = urlsplit(start().url)
    client = http.client.HTTPConnection(str(url.hostname), url.port)
    client.request("GET", "/healthz")
    assert json.loads(client.getresponse().read())["status"] == "ok"
    readable, _, _ = select.select([client.sock], [], [], 6)  # httpx, which the SDKs of frameworks share, keeps 5 s
    assert not readable, "the server closed the connection"
    client.close()
