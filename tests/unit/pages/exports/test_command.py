"""``bench export``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trialbed.store import Store

NEW = "20260202T120000-bbbbbb"


def test_a_run_is_written_though_its_dataset_and_frameworks_are_gone(bench: Any, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in bench("export", NEW).stdout.splitlines()]
    assert [(line["framework"], line["query_id"]) for line in lines] == [
        ("reference", 1),
        ("reference", "a/b"),
        ("langgraph:native", 1),
        ("langgraph:native", "a/b"),
    ]
    path = tmp_path / "trials.jsonl"
    assert f"written: {path} (4 trials)" in bench("export", NEW, "--output", path).output
    assert [json.loads(line) for line in path.read_text().splitlines()] == lines


def test_what_is_missing_is_said(bench: Any, stored: Path) -> None:
    with Store.open(str(stored)) as store:
        store.update_run(NEW, status="incomplete")
    assert f"INCOMPLETE: run {NEW} is incomplete" in bench("export", NEW).stderr


def test_an_export_replaces_a_file_only_when_it_is_whole(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trials.jsonl"
    path.write_text("earlier\n")
    sent = 0

    def one_then_fail(*_: Any) -> Any:
        nonlocal sent
        sent += 1
        yield {"a": 1}
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("trialbed_pages.exports.command.trial_lines", one_then_fail)
    done = bench("export", NEW, "--output", path)
    assert sent == 1
    assert done.exit_code != 0
    assert path.read_text() == "earlier\n"


def test_an_export_can_go_into_a_pipe(bench: Any) -> None:
    assert "written: /dev/null (4 trials)" in bench("export", NEW, "--output", "/dev/null").output
