"""Reporters are chosen by name, before anything is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.cli import main


def test_a_reporter_that_cannot_be_used_is_named_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--format", "tabel"]) == 2
    assert "'tabel' is not installed; did you mean 'table'?" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
