"""The trials of failed tests that are kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.stored_runs import NEW, make_store

from trialbed.store import open_store
from trialbed_testing import plugin


def test_the_last_trials_that_failed_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "failed.db"
    make_store(store)
    for number, name in enumerate(("old.html", "new.html", "tasks/old.json", "tasks/new.json")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, (number, number))
    monkeypatch.setattr("trialbed_testing.plugin.MOST_KEPT", 1)
    for _ in range(2):
        plugin._forget(tmp_path, store)
        with open_store(str(store)) as reader:
            assert [run.run_id for run in reader.runs()] == [NEW]
        assert not list(tmp_path.rglob("old.*"))
        assert len(list(tmp_path.rglob("new.*"))) == 2
