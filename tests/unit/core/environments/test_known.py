"""The frameworks that are known are those whose adapters are here."""

from __future__ import annotations

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from trialbed.environments import KNOWN, adapter_distribution
from trialbed.environments._known import framework_packages

ADAPTERS = Path(__file__).parents[4] / "adapters"
PROJECTS = {
    file.parent.name: tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    for file in ADAPTERS.glob("[a-z]*/pyproject.toml")
}
FRAMEWORKS = {
    name: project for name, project in PROJECTS.items() if "trialbed.frameworks" in project.get("entry-points", {})
}


def test_every_adapter_of_the_repository_is_known_by_its_folder() -> None:
    assert set(FRAMEWORKS) == set(KNOWN)
    for name, project in FRAMEWORKS.items():
        assert project["name"] == adapter_distribution(name)
        assert list(project["entry-points"]["trialbed.frameworks"]) == [name]


def test_what_a_release_pins_is_what_the_adapter_requires() -> None:
    for name, project in FRAMEWORKS.items():
        required = {Requirement(line).name for line in project["dependencies"]}
        assert set(framework_packages(name)) <= required
