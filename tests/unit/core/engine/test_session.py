"""What a session does around its trials."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.trials import run_config, trial_of

from trialbed.engine import RunProgress
from trialbed.engine._background import Standing, frozen_heap
from trialbed.engine._session import RunSession
from trialbed.preparation import RunOptions, config_digest
from trialbed.records import TrialResult
from trialbed.store import Store, new_run, open_store


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


async def test_an_interrupted_run_keeps_its_trials_and_one_without_any_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, place = run_config(), str(tmp_path / "trials.db")
    prepared: Any = SimpleNamespace(options=RunOptions(store=place), objects=SimpleNamespace(plugins=(), agents=()))
    with Store.open(place) as store:
        for results in ([trial_of()], []):
            run = new_run(config, config_digest(config))
            store.create_run(run)

            async def interrupted(run_id: str = run.run_id, results: Sequence[TrialResult] = results) -> None:
                store.add_trials(run_id, results)
                raise asyncio.CancelledError

            session = RunSession(prepared, store, run, RunProgress(), ambient=False, standing=Standing())
            monkeypatch.setattr(session, "_trials", interrupted)
            with pytest.raises(asyncio.CancelledError):
                await session.run()
    with open_store(place) as reader:
        (stored,) = reader.runs()
        assert (stored.status, [row.query_id for row in stored.table()]) == ("interrupted", [1])
