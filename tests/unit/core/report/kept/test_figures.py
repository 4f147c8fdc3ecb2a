"""When the figures of a run are kept, and when they are read."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.stored_runs import NEW, make_store

from trialbed import hookimpl
from trialbed.installed import Offer
from trialbed.listeners import Listeners
from trialbed.plugins import empty_manager
from trialbed.records import Query, Run
from trialbed.report import read_report
from trialbed.report.kept import _figures, headlines, make_report, stored_report
from trialbed.store import open_store


class Sums:
    @hookimpl
    def aggregate_scores(self, run: Run) -> dict[str, Any]:
        return {"sum": len(run.config.query_ids)}


class Fails:
    @hookimpl
    def aggregate_scores(self) -> dict[str, Any]:
        raise OSError("not now")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    make_store(tmp_path / "trials.db")
    return tmp_path / "trials.db"


def test_figures_that_were_made_without_the_dataset_are_not_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_figures, "KEPT_FROM", 1)
    with open_store(str(path)) as reader:
        run = reader.run(NEW)
        queries = {name: Query(query_id=name, text="?", apis=()) for name in run.config.query_ids}
        stored_report(run, lambda: None, store=str(path))
        assert headlines(run) is None
        stored_report(run, lambda: queries, store=str(path))
        assert headlines(run) is not None


def test_figures_are_those_of_a_release_of_a_plugin(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = [Offer("trialbed.plugins", "sums", "sums:Sums", "sums-plugin", "1.0")]
    manager = empty_manager()
    manager.register(Sums(), "sums")
    monkeypatch.setattr("trialbed.listeners.offers", lambda _: offered)
    monkeypatch.setattr(_figures, "installed_listeners", lambda *_: Listeners(manager))
    monkeypatch.setattr(_figures, "KEPT_FROM", 1)
    with open_store(str(path)) as reader:
        run = reader.run(NEW)
        queries = {name: Query(query_id=name, text="?", apis=()) for name in run.config.query_ids}
        stored_report(run, lambda: queries, store=str(path))
        assert headlines(run) is not None
        offered[0] = offered[0]._replace(version="1.1")
        assert headlines(run) is None


def test_nothing_is_kept_where_a_plugin_failed_which_may_succeed_next_time(path: Path) -> None:
    with open_store(str(path)) as reader:
        run = reader.run(NEW)
        for plugin, names in ((Fails(), {"columns"}), (Sums(), {"columns", "figures"})):
            plugins = {"own": plugin}
            made = make_report(run, partial(read_report, run, plugins=plugins), plugins)
            assert {part.name for part in made.parts} == names
