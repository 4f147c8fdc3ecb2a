"""``bench data``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trialbed.cli import main


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIALBED_DATA_DIR", str(tmp_path / "data"))


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["data", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_list_names_every_dataset_and_what_is_ready(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["name"]: row for row in printed(capsys, "list")}
    assert rows["mini"]["test_sets"] == ["mini", "shop"]
    assert rows["stabletoolbench"]["test_sets"] == []
    assert all(row["description"] for row in rows.values())
    assert main(["data", "list"]) == 0
    assert "mini: " in capsys.readouterr().out


def test_show_counts_what_is_in_a_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    figures = printed(capsys, "show", "mini")
    assert figures["queries"] == 60
    assert figures["apis"] >= 100
    assert figures["categories"] == 10
    assert len(figures["digest"]) == 64


def test_show_shows_a_query_whole(capsys: pytest.CaptureFixture[str]) -> None:
    query = printed(capsys, "show", "mini", "--query-id", "1")
    assert query["query_id"] == 1
    assert query["gold_calls"]
    assert query["apis"][0]["description"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "minni"], "did you mean 'mini'"),
        (["show", "mini", "--query-id", "x"], "no query x"),
        (["show", "absent.json"], "absent.json"),
        (["import", "."], "no installed dataset driver recognises this folder"),
        (["import", "absent"], "absent"),
    ],
)
def test_wrong_usage_is_2_and_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert main(["data", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_what_is_imported_is_listed_and_can_be_shown(
    capsys: pytest.CaptureFixture[str], stabletoolbench_dir: Path
) -> None:
    assert "G1_instruction" in printed(capsys, "import", str(stabletoolbench_dir))["test_sets"]
    rows = {row["name"]: row for row in printed(capsys, "list")}
    assert "G1_instruction" in rows["stabletoolbench"]["test_sets"]
    assert printed(capsys, "show", "stabletoolbench:G1_instruction")["queries"] == 163
    assert main(["doctor"]) == 0
    assert "stabletoolbench: imported" in capsys.readouterr().out
