from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from trialbed.errors import SandboxUnavailable
from trialbed_plugins.executors.sandbox import _process
from trialbed_plugins.executors.sandbox._interpreters import Interpreter

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes need Linux")

STRANGER = 4_294_000


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A file that its owner alone can reach."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    (folder / "python").touch(mode=0o755)
    return folder / "python"


def interpreter(*needed: Path, sources: tuple[Path, ...] = ()) -> Interpreter:
    return Interpreter(readable=needed, listed=sources, hidden=(), needed=needed)


def test_what_permissions_let_a_user_read(private):
    assert _process.readable_by(Path("/usr"), STRANGER, STRANGER)
    assert _process.readable_by(private, private.stat().st_uid, STRANGER)
    assert not _process.readable_by(private, STRANGER, STRANGER)


def test_an_ordinary_users_workers_run_as_that_user(monkeypatch, private):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert _process._user(interpreter(private), private.parent) is None


def test_workers_of_root_that_could_not_read_the_interpreter_are_refused(monkeypatch, private, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(_process, "_has_capability", lambda number: False)
    with pytest.raises(
        SandboxUnavailable, match=r"cannot read .*home/python; have Python, Trialbed and the agent outside"
    ):
        _process._user(interpreter(private), tmp_path)
    monkeypatch.setattr(_process, "_has_capability", lambda number: True)
    assert _process._user(interpreter(private), tmp_path)["read_any"]


def test_workers_of_root_can_read_an_agent_in_a_folder_of_its_owner_alone_with_any_python(monkeypatch, private):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(_process, "_has_capability", lambda number: True)
    everyones = Path("/usr/bin/env")
    assert not _process._user(interpreter(everyones), Path("/tmp/worker"))["read_any"]
    assert _process._user(interpreter(everyones, sources=(private.parent,)), Path("/tmp/worker"))["read_any"]
    assert _process._user(interpreter(everyones, private), Path("/tmp/worker"))["read_any"]


def test_the_files_of_a_worker(private, tmp_path):
    found = _process.files(tmp_path, interpreter(private), [])
    assert found["write"] == [str(tmp_path)]
    assert {str(private), "/usr", "/proc/self"} <= set(found["read"])
    assert not {"/", "/etc", "/proc", "/home", "/root", "/tmp"} & {path for paths in found.values() for path in paths}
