"""Texts that are read, files that are written whole or not at all, and temporary folders."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from trialbed.cli import main
from trialbed.errors import DataError
from trialbed.files import (
    PREFIX,
    make_private_file,
    make_private_folder,
    read_bytes,
    read_lines,
    read_text,
    replace_file,
    temporary_folder,
)
from trialbed.model_access import CompletionCache
from trialbed.report import write_document
from trialbed.store import Store
from trialbed_server.response_store import ResponseStore


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "a.json", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_new_files_and_folders_are_for_this_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    make_private_folder(folder)
    replace_file(folder / "new.json", b"")
    make_private_file(folder / "empty.db")
    assert [mode(place) for place in (tmp_path / "a", folder)] == [0o700, 0o700]
    assert [mode(folder / name) for name in ("new.json", "empty.db")] == [0o600, 0o600]
    folder.chmod(0o755)
    (folder / "empty.db").chmod(0o644)
    make_private_folder(folder)
    make_private_file(folder / "empty.db")
    assert (mode(folder), mode(folder / "empty.db")) == (0o755, 0o644)
    with pytest.raises(FileExistsError):
        make_private_folder(folder / "empty.db")
    make_private_file(tmp_path / "gone" / "no.db")


def test_what_holds_prompts_and_answers_is_private(tmp_path: Path) -> None:
    state, results = tmp_path / "state", tmp_path / "results"
    Store.open(str(state / "runs.db")).close()
    ResponseStore(str(state / "responses.db")).close()
    with contextlib.closing(CompletionCache(state / "completions.db")) as completions:
        completions.keep("origin", {"a": 1}, "reply")
    about = {"agent_name": "a", "test_set": "t", "model": "m", "run_id": "r"}
    write_document({"metadata": about}, results)
    files = [path for folder in (state, results) for path in folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"runs.db", "responses.db", "completions.db", "a_t.json"}
    assert {path.name: mode(path) for path in files if mode(path) != 0o600} == {}
    assert {mode(path.parent) for path in files} == {0o700}


def test_a_text_is_read_without_its_byte_order_mark_and_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_text(path) == "a\nb"
    path.write_bytes(b"ab\xff")
    with pytest.raises(DataError, match=r"file\.txt: is not UTF-8 text: invalid start byte at byte 2"):
        read_text(path)
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_text(tmp_path)


def large(path: Path) -> Path:
    """A file of 3 GiB that takes no space."""
    with path.open("wb") as file:
        file.write(b"{")
        file.truncate(3 * 2**30)
    return path


def test_a_file_that_is_too_large_is_refused_before_it_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = large(tmp_path / "run.json")
    assert main(["compare", str(path), str(path)]) == 2
    assert f"{path}: has more than 512 MiB; split it, or remove a part" in capsys.readouterr().err


def test_what_never_ends_is_refused() -> None:
    with pytest.raises(DataError, match="/dev/zero: has more than 4 MiB"):
        read_bytes(Path("/dev/zero"), 4 * 2**20)
    with Path("/dev/zero").open("rb") as file, pytest.raises(DataError, match="/dev/zero: line 1 has more than 4 MiB"):
        list(read_lines(file, 4 * 2**20))


HOLDER = """
import sys
from trialbed.files import temporary_folder
with temporary_folder() as folder:
    (folder / "left").mkdir()
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A folder for temporary folders of these tests alone."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield tmp_path
    tempfile.tempdir = None


def test_the_folder_of_a_killed_process_is_removed_by_the_next_one_and_no_other(place):
    command = [sys.executable, "-c", HOLDER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    (place / f"{PREFIX}without-mark").mkdir()
    (place / "other").mkdir()
    with subprocess.Popen(command, **pipes) as running, subprocess.Popen(command, **pipes) as killed:
        kept, left = (Path(process.stdout.readline().strip()) for process in (running, killed))
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait(60)
        assert left.joinpath("left").is_dir()
        with temporary_folder() as own:
            assert {*place.iterdir()} == {kept, own, place / f"{PREFIX}without-mark", place / "other"}
        running.stdin.close()
    assert not kept.exists()
