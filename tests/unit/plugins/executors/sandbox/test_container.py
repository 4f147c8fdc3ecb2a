"""What a container shows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trialbed_plugins.executors.sandbox import _container
from trialbed_plugins.executors.sandbox._interpreters import Interpreter

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes need Linux")


def shown(*readable: Path, hidden: tuple[Path, ...] = ()) -> list[tuple[str, ...]]:
    """The arguments for these files, three at a time."""
    arguments = list(_container.mounts(Interpreter(readable=readable, listed=(), hidden=(), needed=()), hidden))
    own = arguments[next(at for at, word in enumerate(arguments) if word.startswith(str(readable[0]))) - 1 :]
    return list(zip(own[::3], own[1::3], own[2::3], strict=True))


def bound(*paths: Path) -> list[tuple[str, ...]]:
    return [("--ro-bind", str(path), str(path)) for path in paths]


def test_what_is_in_a_folder_that_is_shown_is_not_shown_again(tmp_path: Path) -> None:
    environment, python, script = tmp_path / "venv", tmp_path / "python", tmp_path / "agent.py"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(python)
    python.touch()
    script.touch()
    found = shown(environment, environment / "bin" / "python", python, script)
    assert found == bound(environment, python, script)


def test_what_is_beside_a_hidden_file_is_shown_once(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "agent.py").touch()
    (folder / "README").touch()
    found = shown(folder, folder / "src" / "agent.py", hidden=(folder / "runs.db",))
    assert found == bound(folder / "README", folder / "src")
