"""Reporters are chosen by name, before anything is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.cli import main


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tabel", "'tabel' is not installed; did you mean 'table'?"),
        ("verification", "'verification' shows the results of `bench verify`, not those of a run"),
    ],
)
def test_a_reporter_that_cannot_be_used_is_named_before_anything_is_run(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--format", name]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
