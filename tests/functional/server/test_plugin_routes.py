"""Routes of third-party plugins."""

from __future__ import annotations

import logging
from pathlib import Path
from types import ModuleType

import pluggy
import pytest
from support.servers import Serve

import trialbed_server._app
from trialbed import hookimpl
from trialbed.errors import DriverBroken
from trialbed.plugins import empty_manager
from trialbed_server import ServerOptions, create_app


def plugin(name: str, error: Exception | None = None) -> ModuleType:
    module = ModuleType(name)

    @hookimpl
    def register_routes(app):  # type: ignore[no-untyped-def]
        if error is not None:
            raise error
        app.add_api_route(f"/{name}", lambda: {"from": name})

    module.register_routes = register_routes  # type: ignore[attr-defined]
    return module


def install(monkeypatch: pytest.MonkeyPatch, *plugins: ModuleType) -> None:
    def manager(**_options: object) -> pluggy.PluginManager:
        made = empty_manager()
        for module in plugins:
            made.register(module, name=module.__name__)
        return made

    monkeypatch.setattr(trialbed_server._app, "plugin_manager", manager)


async def test_every_plugin_adds_its_routes(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, plugin("one"), plugin("two"))
    client = await serve()
    assert (await client.get("/one")).json() == {"from": "one"}
    assert (await client.get("/two")).json() == {"from": "two"}


def test_a_plugin_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, plugin("good"), plugin("bad", ValueError("no such thing")))
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
