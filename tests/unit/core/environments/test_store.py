"""The folder of environments, as it is read and written."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from trialbed.environments import (
    BuildRequest,
    EnvironmentMetadata,
    EnvironmentStore,
    FrameworkSpec,
    InstalledEnvironment,
)
from trialbed.environments._store import folder_name, venv_python

parse = FrameworkSpec.parse


def install(store: EnvironmentStore, name: str, digest: str) -> InstalledEnvironment:
    """An environment without packages."""
    metadata = EnvironmentMetadata(
        name=name,
        framework_version="1.0",
        adapter=f"trialbed-{name}",
        adapter_version="0.1",
        python="CPython 3",
        packages=(f"{name}==1.0",),
        lock_digest=digest,
        size=1,
        created_at=datetime.now(UTC),
        uv="0.5.0",
    )
    folder = store.new_build_folder(folder_name(name, digest))
    venv_python(folder).parent.mkdir(parents=True)
    venv_python(folder).symlink_to(sys.executable)
    (folder / "lock.txt").write_text(f"{name}==1.0\n")
    (folder / "environment.json").write_text(metadata.model_dump_json())
    store.add(folder, folder_name(name, digest))
    installed = InstalledEnvironment.read(store.folder / folder_name(name, digest))
    assert installed is not None
    return installed


@pytest.fixture
def store(tmp_path: Path) -> EnvironmentStore:
    return EnvironmentStore(tmp_path / "environments")


def test_looking_writes_nothing(store: EnvironmentStore) -> None:
    assert list(store) == []
    assert store.find(BuildRequest(parse("acme"))) is None
    assert not store.folder.exists()


def test_a_request_finds_what_was_noted_for_it_and_no_other_does(store: EnvironmentStore) -> None:
    installed = install(store, "acme", "a" * 64)
    request = BuildRequest(parse("acme"))
    store.save_resolution(request, installed)
    assert store.find(request) == installed
    assert store.find(BuildRequest(parse("acme==1.0"))) is None
    assert store.find(BuildRequest(parse("acme"), adapter="another-adapter")) is None
    assert installed.environment.python == str(venv_python(installed.folder))
    assert installed.environment.lock == "acme==1.0\n"


def test_a_damaged_resolution_is_ignored(store: EnvironmentStore) -> None:
    installed = install(store, "acme", "a" * 64)
    request = BuildRequest(parse("acme"))
    store.save_resolution(request, installed)
    (file,) = (store.folder / ".answers").iterdir()
    file.write_text("{")
    assert store.find(request) is None
    assert list(store.resolutions()) == []


def test_forgetting_concerns_one_environment(store: EnvironmentStore) -> None:
    one, two = install(store, "acme", "a" * 64), install(store, "acme", "b" * 64)
    store.save_resolution(BuildRequest(parse("acme")), one)
    store.save_resolution(BuildRequest(parse("acme==1.0")), two)
    store.remove(one)
    assert [cached.label for cached in store.resolutions()] == ["acme==1.0"]


def test_placing_replaces_what_cannot_be_used(store: EnvironmentStore) -> None:
    name = folder_name("acme", "a" * 64)
    (store.folder / name / "half").mkdir(parents=True)
    installed = install(store, "acme", "a" * 64)
    assert installed.name == name
    assert not (installed.folder / "half").exists()
    assert list((store.folder / ".unfinished").iterdir()) == []
