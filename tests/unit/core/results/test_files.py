from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbed.errors import DataError
from trialbed.results import check_folder, write_document
from trialbed.results._files import _safe


def document(agent: str = "my_agent", test_set: str = "G1_instruction", **more: Any) -> dict[str, Any]:
    return {"metadata": {"agent_name": agent, "test_set": test_set}, **more}


def test_the_file_is_named_for_agent_and_test_set(tmp_path: Path) -> None:
    path = write_document(document(x="é"), tmp_path / "results" / "tools")
    assert path == tmp_path / "results" / "tools" / "my_agent_G1_instruction.json"
    assert json.loads(path.read_text(encoding="utf-8")) == document(x="é")


def test_a_folder_that_is_looked_at_is_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    check_folder(tmp_path / "there")
    check_folder(tmp_path / "results" / "tools")
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_a_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"file/tools cannot be written: .*--output"):
        check_folder(tmp_path / "file" / "tools")


def test_a_document_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_document(document(x=1), tmp_path)
    path = write_document(document(x=2), tmp_path)
    assert json.loads(path.read_text())["x"] == 2
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_document(document(x=1), tmp_path)

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DataError, match="No space left on device"):
        write_document(document(x=2), tmp_path)
    assert json.loads(path.read_text())["x"] == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", "a/b", "a\x00b", "", "x" * 500, "ü"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    path = write_document(document(name, name), tmp_path / "results")
    assert path.parent == tmp_path / "results"
    assert list(path.parent.iterdir()) == [path]


@given(st.text(max_size=100), st.text(max_size=100))
def test_two_names_never_meet_in_one_file(one: str, other: str) -> None:
    assert (_safe(one) == _safe(other)) == (one == other)


def test_a_profile_is_part_of_the_name(tmp_path: Path) -> None:
    assert write_document(document("langgraph:native", "mini"), tmp_path).name == "langgraph@native_mini.json"
    assert write_document(document("langgraph@native", "mini"), tmp_path).name != "langgraph@native_mini.json"


def test_a_lone_surrogate_survives(tmp_path: Path) -> None:
    path = write_document(document(x="\ud83d"), tmp_path)
    assert json.loads(path.read_text(encoding="utf-8"))["x"] == "\ud83d"


def test_a_folder_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="--output"):
        write_document(document(), tmp_path / "file" / "x")
