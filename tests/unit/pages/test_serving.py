"""Where pages are served."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from trialbed.errors import ServerUnavailable
from trialbed.wire.addresses import HostNames
from trialbed_pages import create_app
from trialbed_pages.serving import HostCheck, _listening_socket, serve


async def asked_for(host: str, names: HostNames) -> httpx.Response:
    transport = httpx.ASGITransport(HostCheck(create_app(), names))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return await client.get("/static/icon.svg", headers={"Host": host})


@pytest.mark.parametrize("host", ["127.0.0.1:8090", "localhost", "[::1]:8090", "Bench.example:80"])
async def test_pages_are_shown_under_the_names_of_this_machine(host: str) -> None:
    assert (await asked_for(host, HostNames(["127.0.0.1", "bench.Example"]))).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8090", "127.0.0.1.evil.example", "10.0.0.1", "[::"])
async def test_a_page_that_has_its_own_name_point_here_reads_nothing(host: str) -> None:
    answer = await asked_for(host, HostNames(["127.0.0.1"]))
    assert (answer.status_code, "--allow-host NAME" in answer.text) == (403, True)


async def test_beyond_loopback_addresses_are_names_too() -> None:
    names = HostNames(["0.0.0.0"], addresses=True)
    for host, status in {"10.0.0.1:8090": 200, "[2001:db8::1]": 200, "evil.example": 403}.items():
        assert (await asked_for(host, names)).status_code == status


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_the_command_checks_hosts(monkeypatch: pytest.MonkeyPatch, stored: Path, host: str) -> None:
    served: list[Any] = []

    def run(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        served.append(server.config.app)
        sockets[0].close()

    monkeypatch.setattr(uvicorn.Server, "run", run)
    serve(host, 0, str(stored), None, in_browser=False, allow_hosts=["bench.example"])
    (app,) = served
    assert isinstance(app, HostCheck)
    assert "bench.example" in app._names
    assert "evil.example" not in app._names
    assert ("10.0.0.1" in app._names) == (host == "0.0.0.0")


@pytest.mark.parametrize(("files", "place"), [((), "/latest"), ((Path(),), "/files")])
def test_a_browser_is_opened_where_something_went_wrong(
    monkeypatch: pytest.MonkeyPatch, stored: Path, files: tuple[Path, ...], place: str
) -> None:
    opened = list[str]()
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    monkeypatch.setattr(uvicorn.Server, "run", lambda _server, sockets: sockets[0].close())
    serve("127.0.0.1", 0, str(stored), None, [stored.parent for _ in files], in_browser=True)
    assert [address.endswith(place) for address in opened] == [True]


def test_the_address_of_files_is_that_of_their_pages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, stored: Path
) -> None:
    monkeypatch.setattr(uvicorn.Server, "run", lambda _server, sockets: sockets[0].close())
    serve("127.0.0.1", 0, str(stored), None, [tmp_path], in_browser=False)
    serve("127.0.0.1", 0, str(stored), None, in_browser=False)
    of_files, of_runs = capsys.readouterr().err.splitlines()
    assert "/files (stop" in of_files
    assert "/files" not in of_runs


@pytest.mark.parametrize(
    ("host", "allowed", "writable"),
    [("127.0.0.1", (), True), ("127.0.0.1", ("bench.example",), False), ("0.0.0.0", (), False)],
)
def test_only_pages_of_this_machine_alone_take_annotations(
    monkeypatch: pytest.MonkeyPatch, host: str, allowed: tuple[str, ...], writable: bool
) -> None:
    made: dict[str, Any] = {}

    def make(*_: Any, **given: Any) -> None:
        made.update(given)
        raise KeyboardInterrupt

    monkeypatch.setattr("trialbed_pages.serving._place", lambda *_: "here")
    monkeypatch.setattr("trialbed_pages.serving.create_app", make)
    with socket.socket() as unused:
        monkeypatch.setattr("trialbed_pages.serving._listening_socket", lambda *_: unused)
        with pytest.raises(KeyboardInterrupt):
            serve(host, 0, None, None, in_browser=False, allow_hosts=allowed)
    assert made["writable"] is writable


def test_a_port_is_taken_from_the_moment_it_is_said_to_be_served() -> None:
    """Two that were started at the same moment both said that their pages are there, and one of them hung."""
    with _listening_socket("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        refused = f"cannot listen on 127.0.0.1, port {port}: .*; choose another with --host or --port"
        with pytest.raises(ServerUnavailable, match=refused):
            _listening_socket("127.0.0.1", port)
