"""The folder of a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.errors import UsageError
from trialbed.store import Store, folder_note


def test_a_folder_that_a_store_has_not_yet_is_said_to_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for slip in ("misspelt/runs.db", "sqlite:///misspelt/runs.db"):
        assert folder_note(slip) == "making the folder misspelt for the store"
    assert not Path("misspelt").exists()
    Store.open("sqlite:///misspelt/runs.db").close()
    assert folder_note("misspelt/runs.db") is None


def test_a_store_that_makes_no_folder_or_is_the_usual_one_has_no_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    there = (str(tmp_path / "runs.db"), "postgresql+psycopg://me@host/a/b", "sqlite:///:memory:")
    assert [folder_note(store) for store in (".trialbed/trialbed.db", "runs.db", *there)] == [None] * 5
    with pytest.raises(UsageError, match="URL cannot be read"):
        folder_note("no url://")
