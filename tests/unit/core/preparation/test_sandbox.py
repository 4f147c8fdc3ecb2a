"""What is hidden from a run's workers, and which runs can have a sandbox."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from trialbed.contracts import Executor
from trialbed.errors import SandboxUnavailable, UsageError
from trialbed.preparation._options import NO_OBJECTS, RunOptions, check_executor, hidden_paths
from trialbed.preparation._prepare import prepare
from trialbed.settings import RunSettings
from trialbed_plugins.executors.local import LocalExecutor

Settings = Callable[..., RunSettings]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    return lambda **given: RunSettings(**{"sandbox": True, "data_dir": tmp_path / "data", **given})


@pytest.fixture(autouse=True)
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The server's URL of each sandbox that was tried."""
    found: list[str] = []
    monkeypatch.setattr("trialbed_plugins.executors.sandbox.check_sandbox", lambda hidden, url: found.append(url))
    return found


def test_the_users_files_are_hidden(settings, tmp_path, monkeypatch):
    monkeypatch.setenv("TRIALBED_INDEX_DIR", str(tmp_path / "indexes"))
    (tmp_path / ".env").write_text("")
    (tmp_path / "queries.json").write_text("[]")
    hidden = hidden_paths(settings(dataset="queries.json", store="runs.db"))
    assert hidden is not None
    names = (
        ".env",
        "queries.json",
        "runs.db",
        "runs.db-wal",
        ".trialbed/responses.db",
        "results/tools",
        "data",
        "indexes",
    )
    assert {tmp_path / name for name in names} <= set(hidden)


def test_a_store_that_is_no_file_hides_none(settings):
    hidden = hidden_paths(settings(store="postgresql://localhost/runs"))
    assert hidden is not None
    assert not any("postgresql" in str(path) for path in hidden)


def test_without_a_sandbox_nothing_is_tried(settings, tried):
    check_executor(settings(sandbox=False), LocalExecutor)
    assert hidden_paths(settings(sandbox=False)) is None
    assert tried == []


def test_the_sandbox_is_tried_with_the_server_that_workers_must_reach(settings, tried):
    check_executor(settings(server_url="http://192.0.2.1:8080"), LocalExecutor)
    assert tried == ["http://192.0.2.1:8080"]


def test_what_does_not_go_together_is_refused(settings, tried):
    with pytest.raises(UsageError, match="the executor 'remote' does not offer it"):
        check_executor(settings(executor="remote"), Executor)
    with pytest.raises(UsageError, match="an object of this process cannot be put into a sandbox"):
        prepare(RunOptions(sandbox=True, frameworks=("own",)), replace(NO_OBJECTS, agents={"own": lambda query: query}))
    assert tried == []


def test_a_run_never_goes_on_without_its_sandbox(settings, monkeypatch):
    def refuse(*_: object) -> None:
        raise SandboxUnavailable("something is missing", "install it")

    monkeypatch.setattr("trialbed_plugins.executors.sandbox.check_sandbox", refuse)
    with pytest.raises(SandboxUnavailable, match="--sandbox: something is missing; install it"):
        check_executor(settings(), LocalExecutor)
