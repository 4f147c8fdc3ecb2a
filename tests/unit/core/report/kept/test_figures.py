"""When the figures of a run are kept, and when they are read."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.stored_runs import NEW, make_store

from trialbed import hookimpl
from trialbed.installed import Offer
from trialbed.listeners import Listeners
from trialbed.plugins import empty_manager, installed_listeners
from trialbed.records import Query, Run
from trialbed.report import read_report
from trialbed.report.kept import _figures, difference_of_kept, headlines, make_report, stored_report
from trialbed.store import Store, open_store

INSTALLED = installed_listeners()


def turn(value: Any, *, keys: bool) -> Any:
    """A value of JSON with its keys the other way round, or its lists."""
    if isinstance(value, dict):
        pairs = [(key, turn(one, keys=keys)) for key, one in value.items()]
        return dict(reversed(pairs) if keys else pairs)
    if isinstance(value, list):
        found = [turn(one, keys=keys) for one in value]
        return found if keys else found[::-1]
    return value


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


def test_figures_that_were_made_without_the_dataset_are_kept_for_those_who_lack_it_too(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_figures, "KEPT_FROM", 1)
    with open_store(str(path)) as reader:
        run = reader.run(NEW)
        queries = {name: Query(query_id=name, text="?", apis=()) for name in run.config.query_ids}
        made = stored_report(run, lambda: None, listeners=INSTALLED, store=str(path))
        assert headlines(run, INSTALLED) is None
        with monkeypatch.context() as patch:
            patch.setattr(_figures, "read_report", None)
            kept = stored_report(run, lambda: None, listeners=INSTALLED, store=str(path))
            assert kept.frameworks[0].scores == made.frameworks[0].scores
            with pytest.raises(TypeError):
                stored_report(run, lambda: queries, listeners=INSTALLED, store=str(path))
        stored_report(run, lambda: queries, listeners=INSTALLED, store=str(path))
        assert headlines(run, INSTALLED) is not None


def test_figures_are_those_of_a_release_of_a_plugin(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = [Offer("trialbed.plugins", "sums", "sums:Sums", "sums-plugin", "1.0")]
    manager = empty_manager()
    manager.register(Sums(), "sums")
    monkeypatch.setattr("trialbed.listeners.offers", lambda _: offered)
    listeners = Listeners(manager)
    monkeypatch.setattr(_figures, "KEPT_FROM", 1)
    with open_store(str(path)) as reader:
        run = reader.run(NEW)
        queries = {name: Query(query_id=name, text="?", apis=()) for name in run.config.query_ids}
        stored_report(run, lambda: queries, listeners=listeners, store=str(path))
        assert headlines(run, listeners) is not None
        offered[0] = offered[0]._replace(version="1.1")
        assert headlines(run, listeners) is None


def test_nothing_is_kept_where_a_plugin_failed_which_may_succeed_next_time(path: Path) -> None:
    with open_store(str(path)) as reader:
        run = reader.run(NEW)
        for plugin, names in ((Fails(), {"columns"}), (Sums(), {"columns", "figures"})):
            listeners = installed_listeners({"own": plugin})
            made = make_report(run, partial(read_report, run, aggregate=listeners.aggregate), listeners)
            assert {part.name.partition("/")[0] for part in made.parts} == names


@pytest.mark.parametrize(("keys", "says"), [(True, ""), (False, "over_answered of reference")])
def test_kept_figures_are_others_where_lists_have_another_order_but_not_where_keys_have(
    path: Path, keys: bool, says: str
) -> None:
    with Store.open(str(path)) as store, open_store(str(path)) as reader:
        run = reader.run(NEW)
        queries = {name: Query(query_id=name, text="?", apis=()) for name in run.config.query_ids}
        found = read_report(run, queries, described=INSTALLED.descriptions())
        made = make_report(run, lambda: found, INSTALLED)
        (part,) = [part for part in made.parts if part.name == "figures"]
        found = json.loads(part.text())
        found["frameworks"] = [turn(each, keys=keys) for each in found["frameworks"]]
        assert json.dumps(found) != part.text()
        assert store.keep_report(replace(made, parts=[replace(part, text=lambda: json.dumps(found))]))
        assert difference_of_kept(run, lambda: queries, INSTALLED) == says
