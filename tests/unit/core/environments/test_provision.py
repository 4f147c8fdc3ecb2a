"""Environments that cannot be built, with a uv that fails in the way that is looked at."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trialbed.environments import Request, Shelf, Silent, _uv, provide, read_label
from trialbed.errors import EnvironmentFailed

SCRIPT = """#!{python}
import sys
if "compile" in sys.argv:
    print("acme==1.0")
elif "install" in sys.argv:
    print("error: failed to write `x`\\n  cause: No space left on device (os error 28)", file=sys.stderr)
    sys.exit(2)
"""


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    script = tmp_path / "uv"
    script.write_text(SCRIPT.format(python=sys.executable))
    script.chmod(0o755)
    monkeypatch.setattr(_uv, "find_uv", lambda: str(script))
    (tmp_path / "environments").mkdir()
    return Shelf(tmp_path / "environments")


async def test_a_full_disk_is_told_with_what_to_do_and_leaves_nothing(shelf: Shelf) -> None:
    with pytest.raises(EnvironmentFailed, match="acme: its environment cannot be built") as caught:
        await provide(shelf, [Request(read_label("acme"))], Silent())
    assert "No space left on device" in str(caught.value)
    assert "--env-dir" in str(caught.value)
    assert list(shelf) == []
    assert list((shelf.folder / ".unfinished").iterdir()) == []


async def test_a_folder_that_cannot_be_written_is_told(shelf: Shelf) -> None:
    (shelf.folder / ".unfinished").write_text("in the way")
    with pytest.raises(EnvironmentFailed, match=r"\.unfinished.*--env-dir"):
        await provide(shelf, [Request(read_label("acme"))], Silent())


async def test_every_failure_is_told(shelf: Shelf) -> None:
    with pytest.raises(EnvironmentFailed) as caught:
        await provide(shelf, [Request(read_label(name)) for name in ("acme", "crewai")], Silent())
    assert "acme: its environment" in str(caught.value)
    assert "crewai: its environment" in str(caught.value)
