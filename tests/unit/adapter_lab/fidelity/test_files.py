"""Files that ``bench fidelity --output`` wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trialbed.cli import main

MEASURED = Path(__file__).parents[4] / "docs" / "results" / "fidelity.json"


def test_a_file_is_shown_and_written_again_unchanged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = tmp_path / "again.json"
    assert main(["fidelity", str(MEASURED), "--output", str(again)]) == 0
    assert "langgraph:native" in capsys.readouterr().out
    assert json.loads(again.read_text()) == json.loads(MEASURED.read_text())


def test_some_parts_of_a_file_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fidelity", str(MEASURED), "--part", "calls", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["conditions"]["themes"] == ["calls"]
    assert {one["theme"] for adapter in document["adapters"] for one in adapter["report"]["findings"]} == {"calls"}


def test_a_file_is_shown_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fidelity", str(MEASURED), "langgraph"]) == 2
    assert f"{MEASURED}: a file is shown alone; leave out the other names" in capsys.readouterr().err


def test_a_part_alone_has_the_rows_of_large_probes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fidelity", str(MEASURED), "--format", "markdown"]) == 0
    assert "hard\\_schemas\\_by\\_tool: 100 more rows, shown with --part traffic." in capsys.readouterr().out
    assert main(["fidelity", str(MEASURED), "--part", "traffic", "--format", "markdown"]) == 0
    assert capsys.readouterr().out.count("| hard\\_schemas\\_by\\_tool: ") >= 100


def test_a_file_that_cannot_be_read_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"conditions": {}, "adapters": []}', encoding="utf-8")
    assert main(["fidelity", str(path)]) == 2
    assert "not a report of bench fidelity --output: Field required" in " ".join(capsys.readouterr().err.split())
