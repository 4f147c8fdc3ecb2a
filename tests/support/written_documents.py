"""Result documents with known scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from trialbed.records import NOT_MEASURED

ABOUT = {
    "agent_name": "reference",
    "framework_version": "1",
    "run_id": "20260101T000000-aaaaaa",
    "test_set": "mini",
    "dataset_digest": "d" * 64,
    "model": "scripted:gold",
    "base_url": None,
    "evaluator_model": "rule",
    "seed": 0,
    "repeat": 1,
    "selector": "query",
}

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a document: ``query id -> scores of its trials, or its failure's kind and status``."""

    def write(name: str, found: Mapping[Any, Any], void: str = "", **about: Any) -> Path:
        results = [
            {"query_id": query_id, "repeat": repeat, "timing": {"first": False}, **_entry(trial)}
            for query_id, trials in found.items()
            for repeat, trial in enumerate(trials if isinstance(trials, list) else [trials])
        ]
        document = {
            "metadata": ABOUT | {"agent_name": name} | about,
            "summary": {
                "intervals": {"sopr_score": [0, 1], "api_f1": [0, 1], "gold_offered": [0, 1]},
                "quality_scores": ["sopr_score", "api_f1"],
                "first_trials": {"count": 0, "kept_apart": False},
                "integrity": {"trials": 1, "void": void or None, "findings": {}},
            },
            "results": results,
        }
        path = tmp_path / f"{name}_{about.get('run_id', '')}.json"
        path.write_text(json.dumps(document))
        return path

    return write


def _entry(trial: Any) -> dict[str, Any]:
    if isinstance(trial, str):
        kind, _, status = trial.partition(" ")
        usual = "not measured" if kind in NOT_MEASURED else "failed"
        return {"scores": {"sopr_score": None}, "error": {"kind": kind, "message": "no"}, "status": status or usual}
    return {"scores": {**trial, "answer_status": "Solved"}, "status": "answered"}
