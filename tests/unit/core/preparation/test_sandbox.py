"""What is hidden from a run's workers, and which sandboxes go with which runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from trialbed.contracts import Executor, Sandbox
from trialbed.errors import SandboxUnavailable, UsageError
from trialbed.preparation._options import check_run_sandbox, run_sandbox
from trialbed.settings import RunSettings
from trialbed_plugins.executors.local import LocalExecutor

Settings = Callable[..., RunSettings]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    return lambda **given: RunSettings(**{"sandbox": "container", "data_dir": tmp_path / "data", **given})


@pytest.fixture(autouse=True)
def tried(monkeypatch: pytest.MonkeyPatch) -> list[Sandbox]:
    """The sandboxes that were tried."""
    sandboxes: list[Sandbox] = []
    monkeypatch.setattr("trialbed_plugins.executors.sandbox.check_sandbox", sandboxes.append)
    return sandboxes


def test_the_users_files_are_hidden(settings, tmp_path):
    (tmp_path / ".env").write_text("")
    (tmp_path / "queries.json").write_text("[]")
    sandbox = run_sandbox(settings(dataset="queries.json", store="runs.db"))
    assert sandbox is not None
    names = (".env", "queries.json", "runs.db", "runs.db-wal", ".trialbed/responses.db", "results/tools", "data")
    assert {tmp_path / name for name in names} <= set(sandbox.hidden)


def test_a_store_that_is_no_file_hides_none(settings):
    sandbox = run_sandbox(settings(store="postgresql://localhost/runs"))
    assert sandbox is not None
    assert not any("postgresql" in str(path) for path in sandbox.hidden)


def test_without_a_sandbox_nothing_is_tried(settings, tried):
    check_run_sandbox(settings(sandbox="none"), None)
    assert run_sandbox(settings(sandbox="none")) is None
    assert tried == []


def test_the_sandbox_that_is_asked_for_is_tried(settings, tried):
    check_run_sandbox(settings(), LocalExecutor)
    assert [sandbox.mode for sandbox in tried] == ["container"]


@pytest.mark.parametrize(
    ("given", "executor", "text"),
    [
        ({"sandbox": "vault"}, LocalExecutor, "'vault' is not one of none, process, container"),
        ({}, None, "an object of this process cannot be put into a sandbox"),
        ({"executor": "remote"}, Executor, "the executor 'remote' does not offer it"),
        ({"server_url": "http://192.0.2.1:8080"}, LocalExecutor, "give the name of the host"),
    ],
)
def test_what_does_not_go_together_is_refused(settings, tried, given, executor, text):
    with pytest.raises(UsageError, match=text):
        check_run_sandbox(settings(**given), executor)
    assert tried == []


def test_a_sandbox_that_cannot_be_made_is_never_replaced_by_a_weaker_one(settings, monkeypatch):
    def refuse(sandbox: Sandbox) -> None:
        raise SandboxUnavailable(sandbox.mode, "something is missing", "install it")

    monkeypatch.setattr("trialbed_plugins.executors.sandbox.check_sandbox", refuse)
    with pytest.raises(SandboxUnavailable, match="--sandbox container: something is missing; install it"):
        check_run_sandbox(settings(), LocalExecutor)
