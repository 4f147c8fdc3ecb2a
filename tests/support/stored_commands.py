"""A store with two runs, one of two frameworks in which things went wrong and an older one, and commands beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.stored_runs import make_store

from trialbed.cli import cli

Bench = Callable[..., Result]


@pytest.fixture
def bench(stored: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Run a command beside the store."""
    monkeypatch.chdir(stored.parent.parent)
    return lambda *arguments: CliRunner().invoke(cli, [str(argument) for argument in arguments], standalone_mode=False)


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the store."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("TRIALBED_STORE", raising=False)
    monkeypatch.delenv("TRIALBED_STATE_DIR", raising=False)
    path = tmp_path / ".trialbed" / "trialbed.db"
    make_store(path)
    return path


@pytest.fixture(autouse=True)
def no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tables be as wide as they are, wherever the tests run."""
    monkeypatch.delenv("COLUMNS", raising=False)
