"""Routes of third-party plugins."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from support.distributions import FakeDistribution
from support.servers import Serve

from trialbed.errors import DriverBroken
from trialbed_server import ServerOptions, create_app

PLUGIN = """
from trialbed import hookimpl

@hookimpl
def register_routes(app):
    app.add_api_route("/{name}", lambda: {{"from": "{name}"}})
"""
UNCHANGED = """
from starlette.exceptions import HTTPException
from trialbed import hookimpl

def fail(status: int):
    raise HTTPException(status, headers={{"ETag": "e"}})

@hookimpl
def register_routes(app):
    app.add_api_route("/errors/{{status}}", fail)
"""
FAILING = """
from trialbed import hookimpl

@hookimpl
def register_routes(app):
    raise ValueError("no such thing")
"""


def install(fake_distribution: FakeDistribution, name: str, source: str = PLUGIN) -> None:
    module = f"routes_of_{name}"
    points = {"trialbed.plugins": {name: module}}
    fake_distribution(f"trialbed-{name}", entry_points=points, modules={module: source.format(name=name)})


async def test_every_plugin_adds_its_routes(serve: Serve, fake_distribution: FakeDistribution) -> None:
    install(fake_distribution, "one")
    install(fake_distribution, "two")
    client = await serve()
    assert (await client.get("/one")).json() == {"from": "one"}
    assert (await client.get("/two")).json() == {"from": "two"}


async def test_an_error_whose_status_allows_no_body_has_none(serve: Serve, fake_distribution: FakeDistribution) -> None:
    install(fake_distribution, "unchanged", UNCHANGED)
    client = await serve()
    for status in (204, 304):
        reply = await client.get(f"/errors/{status}")
        assert (reply.status_code, reply.content, reply.headers["etag"]) == (status, b"", "e")
        assert "content-type" not in reply.headers
    assert (await client.get("/errors/404")).json() == {"detail": "Not Found"}


def test_a_plugin_that_fails_is_named(tmp_path: Path, fake_distribution: FakeDistribution) -> None:
    install(fake_distribution, "good")
    install(fake_distribution, "bad", FAILING)
    with pytest.raises(DriverBroken, match="plugin 'bad' cannot add its routes: ValueError: no such thing"):
        create_app(ServerOptions(cache=str(tmp_path / "r.db")))


def test_a_plugin_that_cannot_be_imported_is_left_out_with_an_error_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "trialbed_bad-1.5.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: trialbed-bad\nVersion: 1.5\n")
    (folder / "entry_points.txt").write_text("[trialbed.plugins]\nbad = module_that_is_not_there\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with caplog.at_level(logging.ERROR):
        create_app(ServerOptions(cache=str(tmp_path / "r.db")))
    assert "plugin 'bad' of trialbed-bad 1.5 cannot be loaded: ModuleNotFoundError" in caplog.text
