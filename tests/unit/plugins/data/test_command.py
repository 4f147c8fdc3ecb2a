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


def test_show_says_in_words_what_a_dataset_and_a_query_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "show", "mini"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("mini: 60 tasks, sha256 ")
    assert lines[1] == "tools: 110 in 41 collections and 10 categories"
    assert lines[-1] == "… and 55 more; one of them: --query-id ID"
    assert main(["data", "show", "mini", "--query-id", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == 'call 1: Peaks and Rivers_v2_Find river {"name": "Lisk"}'
    assert "must say: Fenna Birkwold" in lines
    assert len(lines) < 12


def test_a_file_that_is_not_there_is_no_dataset_that_is_not_installed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "desk.json").write_text("{}")
    assert main(["data", "show", "desk.jsn"]) == 2
    assert capsys.readouterr().err == "Error: there is no file desk.jsn; did you mean 'desk.json'?\n"
    assert main(["data", "show", "elsewhere/desk"]) == 2
    assert capsys.readouterr().err == "Error: there is no file elsewhere/desk.\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "minni"], "did you mean 'mini'"),
        (["show", "mini", "--query-id", "x"], "no task x"),
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
