"""Temporary folders."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from trialbed.files import IN_USE, PREFIX, remove_abandoned, temporary_folder

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


def test_a_folder_is_removed_afterwards_and_may_have_been_before(place):
    with temporary_folder() as folder, temporary_folder() as other:
        assert folder.parent == place
        (folder / "file").touch()
        other.joinpath(IN_USE).unlink()
        other.rmdir()
    assert list(place.iterdir()) == []


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


def test_links_are_not_followed(place, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / IN_USE).touch()
    (place / f"{PREFIX}link").symlink_to(elsewhere)
    remove_abandoned()
    assert (elsewhere / IN_USE).exists()
