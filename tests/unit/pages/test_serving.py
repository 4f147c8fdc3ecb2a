"""Where pages are served, to whom, and who may write."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from trialbed.errors import ServerUnavailable
from trialbed.wire.addresses import HostNames
from trialbed_pages import create_app
from trialbed_pages.serving import HostCheck, serve

OWN, NAMED, ALL = HostNames(["127.0.0.1"]), HostNames(["127.0.0.1", "bench.Example"]), HostNames(["::"], addresses=True)


@pytest.mark.parametrize(
    ("names", "status", "hosts"),
    [
        (NAMED, 200, ("127.0.0.1:8090", "localhost", "[::1]:8090", "Bench.example:80")),
        # A page that has its own name point here reads nothing.
        (OWN, 403, ("evil.example", "evil.example:8090", "127.0.0.1.evil.example", "10.0.0.1", "[::")),
        (ALL, 200, ("10.0.0.1:8090", "[2001:db8::1]")),
        (ALL, 403, ("evil.example",)),
    ],
)
async def test_pages_are_shown_under_the_names_of_this_machine_only(
    names: HostNames, status: int, hosts: tuple[str, ...]
) -> None:
    transport = httpx.ASGITransport(HostCheck(create_app(), names))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        for host in hosts:
            answer = await client.get("/static/icon.svg", headers={"Host": host})
            assert (answer.status_code, "--allow-host NAME" in answer.text) == (status, status == 403), host


@pytest.mark.parametrize(
    ("host", "allowed", "evil", "annotated"),
    [
        ("127.0.0.1", (), 403, 303),
        ("127.0.0.1", ("bench.example",), 403, 405),
        ("0.0.0.0", (), 403, 405),
    ],
)
async def test_the_command_checks_hosts_and_pages_of_this_machine_alone_take_annotations(
    monkeypatch: pytest.MonkeyPatch, stored: Path, host: str, allowed: tuple[str, ...], evil: int, annotated: int
) -> None:
    served: list[Any] = []

    def run(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        served.append(server.config.app)
        sockets[0].close()

    monkeypatch.setattr(uvicorn.Server, "run", run)
    serve(host, 0, str(stored), None, in_browser=False, allow_hosts=allowed)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(served[0]), base_url="http://127.0.0.1") as client:
        statuses = {
            name: (await client.get("/static/icon.svg", headers={"Host": name})).status_code
            for name in ("evil.example", "10.0.0.1", "bench.example")
        }
        form = {"framework": "reference", "query": "1", "rating": "wrong"}
        written = await client.post("/runs/20260202T120000-bbbbbb/annotation", data=form)
    expected = {"10.0.0.1": 200 if host == "0.0.0.0" else 403, "bench.example": 200 if allowed else 403}
    assert statuses == {"evil.example": evil} | expected
    assert (written.status_code == 303) == (annotated == 303)


def test_the_address_is_said_and_a_browser_is_opened_at_what_went_wrong_or_at_files(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, stored: Path
) -> None:
    opened = list[str]()
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    monkeypatch.setattr(uvicorn.Server, "run", lambda _server, sockets: sockets[0].close())
    for files in ((), (tmp_path,)):
        serve("127.0.0.1", 0, str(stored), None, files, in_browser=True)
    assert [address.rpartition("/")[2] for address in opened] == ["latest", "files"]
    of_runs, of_files = capsys.readouterr().err.splitlines()
    assert ("/files (stop" in of_files, "/files" in of_runs) == (True, False)


def test_a_port_that_is_taken_is_an_error_from_the_moment_it_is_served(
    monkeypatch: pytest.MonkeyPatch, stored: Path
) -> None:
    """Two that were started at the same moment both said that their pages are there, and one of them hung."""
    refused: list[str] = []

    def run(_server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        port = sockets[0].getsockname()[1]
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        with pytest.raises(ServerUnavailable) as error:
            serve("127.0.0.1", port, str(stored), None, in_browser=False)
        refused.append(str(error.value))
        sockets[0].close()

    monkeypatch.setattr(uvicorn.Server, "run", run)
    serve("127.0.0.1", 0, str(stored), None, in_browser=False)
    assert re.fullmatch(r"cannot listen on 127.0.0.1, port \d+: .*; choose another with --host or --port", refused[0])
