"""``bench export``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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
    path = tmp_path / "spans.jsonl"
    assert f"written: {path} (4 trials)" in bench("export", NEW, "--format", "otel", "--output", path).output
    assert all("resourceSpans" in json.loads(line) for line in path.read_text().splitlines())


def test_what_is_missing_is_said(bench: Any, stored: Path) -> None:
    with Store.open(str(stored)) as store:
        store.update_run(NEW, status="incomplete")
    assert f"INCOMPLETE: run {NEW} is incomplete" in bench("export", NEW).stderr
