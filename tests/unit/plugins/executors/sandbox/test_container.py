"""What a container shows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trialbed_plugins.executors.sandbox import _container
from trialbed_plugins.executors.sandbox._interpreters import Interpreter

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes need Linux")


def shown(*readable: Path, hidden: tuple[Path, ...] = ()) -> list[tuple[str, ...]]:
    """The arguments for these files."""
    found = _container.mounts(Interpreter(readable=readable, listed=(), hidden=(), needed=()), hidden)
    return [mount for mount in found if Path(mount[-1]).is_relative_to(readable[0].parent)]


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


@pytest.mark.parametrize("number", range(4))
def test_the_folders_above_what_is_shown_can_be_entered_however_many_are_hidden(tmp_path: Path, number: int) -> None:
    readable, secrets = tmp_path / "venv", tuple(tmp_path / "venv" / str(name) for name in range(number))
    for folder in (readable, *secrets):
        folder.mkdir()
    mounts = [*shown(readable, hidden=secrets), ("--bind", "/home/worker/1", "/home/worker/1")]
    assert len(mounts) == 2 + number
    made = list(_container.folders_above(mounts))
    above = {path for path in (tmp_path, *tmp_path.parents, Path("/home"), Path("/home/worker")) if path != Path("/")}
    assert set(map(Path, made[3::4])) == above
