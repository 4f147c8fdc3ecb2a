"""Environments that cannot be built, with a uv that fails in the way that is looked at."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trialbed.environments import BuildRequest, EnvironmentStore, FrameworkSpec, _build, provide
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
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EnvironmentStore:
    script = tmp_path / "uv"
    script.write_text(SCRIPT.format(python=sys.executable))
    script.chmod(0o755)
    monkeypatch.setattr(_build, "find_uv", lambda: str(script))
    (tmp_path / "environments").mkdir()
    return EnvironmentStore(tmp_path / "environments")


async def test_a_full_disk_is_told_with_what_to_do_and_leaves_nothing(store: EnvironmentStore) -> None:
    with pytest.raises(EnvironmentFailed, match="acme: its environment cannot be built") as caught:
        await provide(store, [BuildRequest(FrameworkSpec.parse("acme"))])
    assert "No space left on device" in str(caught.value)
    assert "--env-dir" in str(caught.value)
    assert list(store) == []
    assert list((store.folder / ".unfinished").iterdir()) == []


async def test_a_folder_that_cannot_be_written_is_told(store: EnvironmentStore) -> None:
    (store.folder / ".unfinished").write_text("in the way")
    with pytest.raises(EnvironmentFailed, match=r"\.unfinished.*--env-dir"):
        await provide(store, [BuildRequest(FrameworkSpec.parse("acme"))])


async def test_every_failure_is_told(store: EnvironmentStore) -> None:
    with pytest.raises(EnvironmentFailed) as caught:
        await provide(store, [BuildRequest(FrameworkSpec.parse(name)) for name in ("acme", "crewai")])
    assert "acme: its environment" in str(caught.value)
    assert "crewai: its environment" in str(caught.value)
