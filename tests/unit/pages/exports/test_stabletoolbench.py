from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.trials import run_config

from trialbed.errors import DataError
from trialbed.records import Run
from trialbed.store import Store, open_store
from trialbed_pages.exports.stabletoolbench import export_stabletoolbench


def test_an_export_has_no_files_without_trials(tmp_path: Path) -> None:
    place, run_id = str(tmp_path / "runs.db"), "20260303T120000-cccccc"
    with Store.open(place) as store:
        created = datetime(2026, 3, 3, tzinfo=UTC)
        fields = {"config": run_config(), "config_digest": run_id, "status": "interrupted"}
        store.create_run(Run(run_id=run_id, created_at=created, environment_digest="", **fields))
    with open_store(place) as reader, pytest.raises(DataError, match=f"run {run_id} is interrupted and has no trial"):
        list(export_stabletoolbench(reader.run(run_id), {}, tmp_path / "out"))
    assert not (tmp_path / "out").exists()
