"""What a session does around its trials."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.stored_runs import trial
from support.trials import run_config

from trialbed.engine import RunProgress
from trialbed.engine._background import frozen_heap
from trialbed.engine._session import RunSession
from trialbed.errors import DataError
from trialbed.preparation import RunOptions, config_digest
from trialbed.records import Run
from trialbed.run_report import RunReporter
from trialbed.store import MadeReport, Store, column_table, new_run, open_store


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    calls: list[str] = []
    monkeypatch.setattr(gc, "freeze", lambda: calls.append("freeze"))
    monkeypatch.setattr(gc, "unfreeze", lambda: calls.append("unfreeze"))
    return calls


def test_the_heap_is_frozen_while_trials_run(called: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    usual = gc.get_threshold()
    with frozen_heap():
        assert called == ["freeze"]
        assert gc.get_threshold()[0] > usual[0]
    assert called == ["freeze", "unfreeze"]
    assert gc.get_threshold() == usual


def test_a_program_that_searches_for_no_garbage_has_none_searched_for(
    called: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = gc.get_threshold()
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    gc.set_threshold(0, *usual[1:])
    try:
        with frozen_heap():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*usual)
    assert called


def test_what_the_program_itself_has_frozen_stays_so(called: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 1)
    with frozen_heap():
        pass
    assert called == []


async def test_a_run_has_ended_whatever_becomes_of_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = run_config()
    run = new_run(config, config_digest(config))
    prepared: Any = SimpleNamespace(options=RunOptions(), objects=SimpleNamespace(plugins=()))
    notes: list[str] = []
    progress = RunProgress()
    monkeypatch.setattr(progress, "note", notes.append)
    with Store.open(str(tmp_path / "trials.db")) as store:
        store.create_run(run)

        def report(ended: Run) -> MadeReport | None:
            assert store.run(run.run_id).status == ended.status != "running"
            raise DataError("two plugins disagree")

        async def no_trials(_executor: object) -> None:
            """All were there before."""

        session = RunSession(prepared, store, run, progress, ambient=False, report=report)
        monkeypatch.setattr(session, "_trials", no_trials)
        ended = await session.run(None)
        stored = store.run(run.run_id)
    assert (stored.status, stored.overall_time) == (ended.status, ended.overall_time)
    assert notes == [f"the figures of run {run.run_id} are not kept with it: two plugins disagree"]


async def test_the_scores_of_an_interrupted_run_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed.store._run_columns.KEPT_FROM", 1)
    config, place = run_config(), str(tmp_path / "trials.db")
    run = new_run(config, config_digest(config))
    prepared: Any = SimpleNamespace(options=RunOptions(store=place), objects=SimpleNamespace(plugins=()))
    with Store.open(place) as store:
        store.create_run(run)

        async def one_trial(_executor: object) -> None:
            store.add_trial(run.run_id, trial("reference", 1, wrong=False))
            raise asyncio.CancelledError

        session = RunSession(prepared, store, run, RunProgress(), ambient=False, report=RunReporter(prepared))
        monkeypatch.setattr(session, "_trials", one_trial)
        with pytest.raises(asyncio.CancelledError):
            await session.run(None)
    with open_store(place) as reader:
        stored = reader.run(run.run_id)
        assert stored.status == "interrupted"
        monkeypatch.setattr("trialbed.store._run_columns.read_column_table", None)
        assert [trial.key.query_id for trial in column_table(stored, ()).trials()] == [1]
