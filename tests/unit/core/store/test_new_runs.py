"""The record of a new run."""

from __future__ import annotations

from trialbed.installed import installed_packages
from trialbed.store._runs import environment_digest


def test_the_environment_names_what_is_installed() -> None:
    lines = installed_packages()
    assert any(line.startswith("pydantic==") for line in lines)
    assert environment_digest(lines) != environment_digest(lines[1:])
