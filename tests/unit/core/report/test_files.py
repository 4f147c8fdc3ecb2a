from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbed.errors import DataError
from trialbed.files import give_second_name
from trialbed.report import check_folder, document_parts, json_bytes, kept_path, safe_name, write_document


def document(
    agent: str = "my_agent", test_set: str = "G1_instruction", run_id: str = "r1", **more: Any
) -> dict[str, Any]:
    about = {"agent_name": agent, "test_set": test_set, "model": "scripted:gold", "run_id": run_id}
    return {"metadata": about, **more}


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


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_every_run_keeps_its_document_and_the_latest_has_a_copy(tmp_path: Path) -> None:
    write_document(document(x=1), tmp_path)
    write_document(document(run_id="r2", x=2), tmp_path)
    path = write_document(document(run_id="r2", x=3), tmp_path)
    kept = ["my_agent_G1_instruction_scripted@gold_r1.json", "my_agent_G1_instruction_scripted@gold_r2.json"]
    assert names(tmp_path) == [path.name, *kept]
    assert [json.loads((tmp_path / name).read_text())["x"] for name in names(tmp_path)] == [3, 1, 3]
    assert kept_path(document(run_id="r2"), tmp_path).name == kept[1]


def test_the_latest_document_is_a_second_name_of_the_run_s_own(tmp_path: Path) -> None:
    path = write_document(document(x=1), tmp_path)
    assert path.samefile(kept_path(document(), tmp_path))
    write_document(document(run_id="r2", x=2), tmp_path)
    assert json.loads(kept_path(document(), tmp_path).read_text())["x"] == 1


def test_a_document_that_others_may_read_stays_so(tmp_path: Path) -> None:
    path = write_document(document(x=1), tmp_path)
    path.chmod(0o644)
    write_document(document(run_id="r2", x=2), tmp_path)
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_document_that_is_written_again_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path, kept = write_document(document(x=1), tmp_path), kept_path(document(), tmp_path)
    give_second_name(kept, path)  # it has that name already, as when two processes write the document of one run
    assert names(tmp_path) == sorted([path.name, kept.name])


def test_where_the_disk_gives_no_second_name_there_is_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_paths: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    path, kept = write_document(document(x=1), tmp_path), kept_path(document(), tmp_path)
    assert path.read_bytes() == kept.read_bytes()
    assert not path.samefile(kept)


@given(st.lists(st.dictionaries(st.text(), st.text() | st.lists(st.integers()))))
def test_a_document_of_parts_is_the_same_as_one_in_a_piece(entries: list[dict[str, Any]]) -> None:
    parts = document_parts(document(results=[]), map(json_bytes, entries))
    assert b"".join(parts) == json_bytes(document(results=entries))


def test_names_of_any_length_make_a_name_that_a_file_can_have(tmp_path: Path) -> None:
    found = document("a" * 300, "b" * 300)
    found["metadata"]["model"] = "c" * 300
    write_document(found, tmp_path)
    assert all(len(name) <= 255 for name in names(tmp_path))


def test_a_write_that_fails_leaves_the_old_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_document(document(x=1), tmp_path)

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DataError, match="No space left on device"):
        write_document(document(x=2), tmp_path)
    assert json.loads(path.read_text())["x"] == 1
    assert names(tmp_path) == sorted([path.name, kept_path(document(), tmp_path).name])


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", "a/b", "a\x00b", "", "x" * 500, "ü"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    path = write_document(document(name, name), tmp_path / "results")
    assert path.parent == tmp_path / "results"
    assert len(list(path.parent.iterdir())) == 2


@given(st.text(max_size=100), st.text(max_size=100))
def test_two_names_never_meet_in_one_file(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)


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
