from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.engine._run import run_lock
from trialbed.errors import UsageError


def test_one_process_at_a_time_per_run(tmp_path: Path) -> None:
    store = str(tmp_path / "deep" / "trialbed.db")
    with run_lock(store, "a" * 64):
        with pytest.raises(UsageError, match="another process"), run_lock(store, "a" * 64):
            pass
        with run_lock(store, "b" * 64):
            pass
    with run_lock(store, "a" * 64):
        pass
    assert list((tmp_path / "deep").iterdir()) == []
