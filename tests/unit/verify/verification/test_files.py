from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.errors import UsageError
from trialbed_verify.verification import check_files


def test_folders_are_made_and_nothing_else(tmp_path: Path) -> None:
    check_files([("the results", tmp_path / "a" / "results.jsonl"), ("the summary", tmp_path / "b" / "s.json")])
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b"]


@pytest.mark.parametrize("other", ["x.jsonl", "./x.jsonl", "b/../x.jsonl", "link"])
def test_two_things_in_one_file_are_refused(other: str, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "x.jsonl")
    with pytest.raises(UsageError, match="named both for the results of b and for the results of a"):
        check_files([("the results of a", tmp_path / "x.jsonl"), ("the results of b", tmp_path / other)])


def test_what_is_read_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text("{}")
    with pytest.raises(UsageError, match="named both for the summary and for the test set"):
        check_files([("the summary", path)], [("the test set", path)])


def test_what_cannot_be_written_is_named_before_anything_is_paid_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot be written: .*name another file for the summary"):
        check_files([("the summary", tmp_path / "file" / "s.json")])
    for place in (tmp_path, Path("/dev/null")):
        with pytest.raises(UsageError, match="not a regular file"):
            check_files([("the summary", place)])
