from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from trialbed.errors import DataError
from trialbed.records import FrameworkInfo, Run, ToolSpec, TrialResult
from trialbed.store import Store, counted_attempts

MakeRun = Callable[..., Run]
MakeTrial = Callable[..., TrialResult]
LATER = datetime(2026, 1, 3, tzinfo=UTC)
INFO = FrameworkInfo(name="reference", version="1", adapter="trialbed", adapter_version="0.1.0", python="3.11.7")


def test_a_run_comes_back_as_it_was(store: Store, make_run: MakeRun) -> None:
    run = make_run(frameworks=(INFO,), server_url="http://127.0.0.1:1")
    store.create_run(run)
    assert store.run("r1") == run


def test_a_run_is_created_once(store: Store, make_run: MakeRun) -> None:
    store.create_run(make_run())
    with pytest.raises(DataError, match="already"):
        store.create_run(make_run())


def test_update_changes_what_is_given_and_nothing_else(store: Store, make_run: MakeRun) -> None:
    store.create_run(make_run())
    store.update_run("r1", frameworks=(INFO,), server_url="http://x")
    store.update_run("r1", status="finished", overall_time=3.5)
    expected = {"frameworks": (INFO,), "status": "finished", "overall_time": 3.5, "server_url": "http://x"}
    assert store.run("r1") == make_run().model_copy(update=expected)


def test_an_unknown_run_is_an_error_that_lists_the_latest(store: Store, make_run: MakeRun) -> None:
    with pytest.raises(DataError, match="no runs yet"):
        store.run("nope")
    store.create_run(make_run("r1"))
    for action in (store.run, store.discard_run, store.update_run):
        with pytest.raises(DataError, match=r"no run 'nope'; its latest runs are r1"):
            action("nope")


def test_runs_are_listed_latest_first_whatever_their_time_zone(store: Store, make_run: MakeRun) -> None:
    west = timezone(timedelta(hours=-9))
    store.create_run(make_run("latest", created=datetime(2026, 1, 2, 20, tzinfo=west)))
    store.create_run(make_run("first", created=LATER - timedelta(days=2)))
    store.create_run(make_run("second", created=LATER))
    assert [run.run_id for run in store.runs()] == ["latest", "second", "first"]
    assert [run.run_id for run in store.runs(limit=1)] == ["latest"]


def test_the_latest_unfinished_run_of_a_configuration_is_found(store: Store, make_run: MakeRun) -> None:
    store.create_run(make_run("old"))
    store.create_run(make_run("new", created=LATER, status="interrupted"))
    store.create_run(make_run("other", digest="d2", created=LATER))
    found = store.unfinished_run("d1")
    assert found is not None
    assert found.run_id == "new"
    store.update_run("new", status="finished")
    store.update_run("old", status="finished")
    assert store.unfinished_run("d1") is None


def test_discarding_a_run_takes_all_of_it_and_nothing_else(
    store: Store, execute: Callable[..., Any], make_run: MakeRun, make_trial: MakeTrial
) -> None:
    shared, own = make_trial(1), make_trial(2, body="own")
    for run_id, trial in (("r1", shared), ("r1", own), ("r2", shared)):
        if not any(run.run_id == run_id for run in store.runs()):
            store.create_run(make_run(run_id))
        store.add_trial(run_id, trial)
    store.add_selections("r1", {1: ()}, 120)
    store.discard_run("r1")
    assert [run.run_id for run in store.runs()] == ["r2"]
    assert counted_attempts(store.each_attempt("r2")) == [shared]
    assert counted_attempts(store.each_attempt("r1")) == []
    assert store.selections("r1", [1], 120) == {}
    assert [execute(f"SELECT count(*) FROM {table}") for table in ("trials", "blobs")] == [1, 3]


def test_the_first_selection_stays(store: Store, make_run: MakeRun, make_trial: MakeTrial) -> None:
    tool = ToolSpec(name="n", description="d", parameters={"type": "object"}, api=make_trial().wire.api_calls[0].api)
    filling = tool.model_copy(update={"name": "m", "topped_up": True})
    assert "topped_up" not in filling.model_dump_json()
    store.create_run(make_run())
    assert store.selections("r1", [1], 120) == {}
    store.add_selections("r1", {1: (tool, filling)}, 120)
    store.add_selections("r1", {1: ()}, 120)
    store.add_selections("r1", {"1": ()}, 120)
    assert store.selections("r1", [1, "1"], 120) == {1: (tool, filling), "1": ()}
    assert store.selections("r1", [1], 5) == {}
    store.add_selections("r1", {1: (filling,)}, 5)
    assert (store.selections("r1", [1], 5), store.selections("r1", [1], 120)) == ({1: (filling,)}, {1: (tool, filling)})


def test_selections_of_many_queries_are_kept_and_read_together(store: Store, make_run: MakeRun) -> None:
    store.create_run(make_run())
    queries: list[int | str] = [*range(1, 1200), "1"]
    store.add_selections("r1", dict.fromkeys(queries, ()), 120)
    assert store.selections("r1", [*queries, 5_000], 120) == dict.fromkeys(queries, ())


def test_a_selection_needs_its_run(store: Store) -> None:
    with pytest.raises(DataError, match="no run 'r1'"):
        store.add_selections("r1", {1: ()}, 120)
