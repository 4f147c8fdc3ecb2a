"""The record of a new run."""

from __future__ import annotations

import pytest
from support.trials import run_config

from trialbed.installed import installed_packages
from trialbed.store import _runs, new_run


def test_the_environment_names_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run(run_config(), "d")
    assert any(line.startswith("pydantic==") for line in run.environment)
    monkeypatch.setattr(_runs, "installed_packages", lambda: installed_packages()[1:])
    assert new_run(run_config(), "d").environment_digest != run.environment_digest
