"""``bench adapter list``: where frameworks are."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.distributions import FRAMEWORKS

from trialbed.cli import main
from trialbed.environments import (
    FIRST_PARTY,
    BuildRequest,
    EnvironmentMetadata,
    EnvironmentStore,
    FrameworkSpec,
    InstalledEnvironment,
)

FakeDistribution = Callable[..., Path]

AGENT = """
from trialbed import BaseAgent, Deviation

class Agent(BaseAgent):
    contract = "3"
    deviations = (Deviation(text="adds a line", check="prompt"), Deviation(text="sorts tools"))

    @classmethod
    def framework_version(cls):
        return "7.8 (with core 9)"

    def bind_tools(self, tools, *, server_url): ...

    def answer(self, query): ...
"""


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of environments."""
    monkeypatch.setenv("TRIALBED_ENV_DIR", str(tmp_path / "environments"))
    return tmp_path / "environments"


@pytest.fixture
def acme(fake_distribution: FakeDistribution, monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter and its framework, installed here and in processes that are started here."""
    entry_points = {"trialbed.frameworks": {"acme": "acme_adapter:Agent"}}
    modules = {"acme_adapter": AGENT}
    adapter = fake_distribution("trialbed-acme", "0.3", entry_points=entry_points, modules=modules)
    framework = fake_distribution("acme", "7.8", entry_points={}, modules={})
    monkeypatch.setenv("PYTHONPATH", f"{adapter}:{framework}")


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, Any]]:
    assert main(["adapter", "list", "--json", *arguments]) == 0
    places = json.loads(capsys.readouterr().out)
    assert [place["framework"] for place in places] == sorted(place["framework"] for place in places)
    return {place["framework"]: place for place in places}


def build(shelf: Path, name: str, framework_version: str, digest: str = "0123456789ab") -> Path:
    """An environment as ``bench env add`` leaves it, whose interpreter is this one without its path."""
    folder = shelf / f"{name}-{digest}"
    metadata = EnvironmentMetadata(
        name=name,
        framework_version=framework_version,
        adapter=f"trialbed-{name}",
        adapter_version="0.1.0",
        python="CPython",
        packages=(),
        lock_digest=digest,
        size=1,
        created_at=datetime.now(UTC),
        uv="0",
    )
    python = folder / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (folder / "environment.json").write_text(metadata.model_dump_json())
    (folder / "lock.txt").write_text("")
    installed = InstalledEnvironment.read(folder)
    assert installed
    EnvironmentStore(shelf).save_resolution(BuildRequest(FrameworkSpec.parse(name)), installed)
    return python


@pytest.mark.usefixtures("shelf")
def test_what_is_known_and_nowhere_is_listed_with_the_command_that_gets_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trialbed_adapter_lab.cli._places.FIRST_PARTY", ("langgraph", "unheard-of"))
    place = listed(capsys)["unheard-of"]
    assert (place["where"], place["get"]) == ("absent", "bench env add unheard-of")
    assert (place["version"], place["adapter"]) == ("", "")
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["adapter", "list"]) == 0
    assert "install unheard-of: bench env add unheard-of" in capsys.readouterr().out.splitlines()


@pytest.mark.usefixtures("shelf", "acme")
def test_what_is_installed_here_is_listed_from_metadata_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **_: started.append(arguments))
    places = listed(capsys)
    acme = places["acme"]
    assert (acme["where"], acme["version"]) == ("here", "7.8")
    assert (acme["adapter"], acme["adapter_version"]) == ("trialbed-acme", "0.3")
    assert places["reference"]["adapter"] == "trialbed"
    assert places["reference"]["version"] == places["reference"]["adapter_version"]
    assert "acme_adapter" not in sys.modules
    assert started == []


def test_an_environment_is_a_place_of_its_own(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    python = build(shelf, "crewai", "1.2.3")
    place = listed(capsys)["crewai"]
    assert (place["where"], place["environment"]) == ("environment", "crewai-0123456789ab")
    assert (place["version"], place["adapter"], place["python"]) == ("1.2.3", "trialbed-crewai", str(python))
    assert place["runs"] == ["crewai"]


def test_an_environment_that_a_newer_one_replaced_is_not_listed(
    shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build(shelf, "crewai", "1.2.3")
    build(shelf, "crewai", "1.3.0", "ba9876543210")
    assert main(["adapter", "list", "--json"]) == 0
    found = [place for place in json.loads(capsys.readouterr().out) if place["framework"] == "crewai"]
    assert [place["version"] for place in found] == ["1.3.0"]


@pytest.mark.usefixtures("shelf", "acme")
def test_the_table_shows_what_is_known(
    capsys: pytest.CaptureFixture[str], fake_distribution: FakeDistribution, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("trialbed_adapter_lab.cli._places.FIRST_PARTY", ("unheard-of",))
    entry_points = {"trialbed.frameworks": {"bad": "bad_adapter:Agent"}}
    fake_distribution("trialbed-bad", "3.1", entry_points=entry_points, modules={})
    assert main(["adapter", "list"]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["acme", "7.8", "trialbed-acme", "0.3", "with", "Trialbed"] in shown
    assert ["bad", "trialbed-bad", "3.1", "with", "Trialbed"] in shown
    assert ["unheard-of", "not", "installed"] in shown
    assert ["install", "unheard-of:", "bench", "env", "add", "unheard-of"] in shown


@pytest.mark.usefixtures("acme")
def test_no_name_is_broken_on_a_narrow_terminal(
    shelf: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build(shelf, "openai-agents", "0.24.0")
    for columns in ("80", "60"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["adapter", "list"]) == 0
        lines = capsys.readouterr().out.splitlines()
        shown = [word for line in lines for word in line.split()]
        assert {"openai-agents", "openai-agents-0123456789ab", "reference-responses"} <= {*shown}
        assert max(map(len, lines)) <= int(columns)


def test_the_frameworks_that_are_known_are_those_whose_adapters_are_here() -> None:
    assert set(FIRST_PARTY) == set(FRAMEWORKS)


@pytest.mark.usefixtures("shelf")
def test_a_framework_is_one_row_with_its_profiles(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, fake_distribution: FakeDistribution
) -> None:
    entry_points = {"trialbed.frameworks": {"two:native": "two_adapter:Agent", "two:controlled": "two_adapter:Agent"}}
    folder = fake_distribution("trialbed-two", entry_points=entry_points, modules={"two_adapter": AGENT})
    monkeypatch.setenv("PYTHONPATH", f"{folder}")
    assert listed(capsys)["two"]["profiles"] == ["controlled", "native"]
