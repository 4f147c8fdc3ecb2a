"""The environment of a lock that was made on another machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trialbed.environments import EnvironmentMetadata, EnvironmentStore, lock_digest, lock_text, locked_environment
from trialbed.errors import EnvironmentFailed


async def test_one_that_is_there_is_used(tmp_path: Path) -> None:
    lock = lock_text(["crewai==1.0"])
    folder = tmp_path / f"crewai-{lock_digest(lock)[:12]}"
    python = folder / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    metadata = EnvironmentMetadata.model_validate(
        {
            "name": "crewai",
            "framework_version": "1.0",
            "adapter": "trialbed-crewai",
            "adapter_version": "1",
            "python": "3",
            "packages": [],
            "lock_digest": lock_digest(lock),
            "size": 1,
            "created_at": "2026-01-01T00:00:00Z",
            "uv": "1",
        }
    )
    (folder / "environment.json").write_text(metadata.model_dump_json(), encoding="utf-8")
    (folder / "lock.txt").write_text(lock, encoding="utf-8")
    found = await locked_environment("crewai:native", lock, EnvironmentStore(tmp_path))
    assert (found.python, found.lock) == (str(python), lock)


async def test_a_folder_of_the_other_machine_is_named(tmp_path: Path) -> None:
    lock = f"crewai==1.0\ntrialbed @ {(tmp_path / 'checkout').as_uri()}\n"
    with pytest.raises(EnvironmentFailed, match=r"crewai: its lock names .*checkout, which is not on this machine"):
        await locked_environment("crewai", lock, EnvironmentStore(tmp_path / "environments"))
    assert not (tmp_path / "environments").exists()
