"""``bench judge``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trialbed.cli import main

CASES = [
    {"id": "a", "query": "How far?", "facts": ["111.4"], "answer": "It is 111.4km.", "label": "Solved"},
    {"id": "b", "query": "Is it open?", "facts": ["open"], "answer": "It is not open.", "label": "Unsolved"},
    {"id": "c", "query": "How heavy?", "facts": ["7.5"], "answer": "7500 grams", "label": "Solved"},
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, CASES)))
    return tmp_path


def test_calibration_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "calibrate", "mine.jsonl"]) == 0
    out, err = capsys.readouterr()
    assert "rule agrees with 67 %" in out
    assert "of 3 labelled cases (mine.jsonl)" in out
    assert "cases in which judge and label differ" in out
    assert "not kept: 3 cases with a verdict are too few" in err
    assert not (folder / "state" / "calibrations.json").exists()


def test_calibration_over_enough_cases_is_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps({**CASES[number % 3], "id": str(number)}) for number in range(30)]
    (folder / "mine.jsonl").write_text("\n".join(lines))
    assert main(["judge", "calibrate", "mine.jsonl"]) == 0
    assert "kept: reports of later runs" in capsys.readouterr().err
    (kept,) = json.loads((folder / "state" / "calibrations.json").read_text()).values()
    assert (kept["labels"], kept["cases"]) == ("mine.jsonl", 30)


def test_calibration_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "calibrate", "mine.jsonl", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [finding["found"] for finding in document["findings"]] == ["Solved", "Unsolved", "Unsolved"]


def test_a_judge_that_asks_a_model_needs_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "calibrate", "--judge", "llm"]) == 2
    assert "--judge-model" in capsys.readouterr().err


def test_the_embedded_cases_can_be_calibrated_with(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "cases"]) == 0
    (folder / "own.jsonl").write_text(capsys.readouterr().out)
    assert main(["judge", "calibrate", "own.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cases"] >= 120
