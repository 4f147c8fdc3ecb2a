"""The measurement of releases, without environments."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from types import ModuleType

import pytest
from support.cases import for_each
from support.released import measured

import trialbed.wire
import trialbed_scripted
import trialbed_server
from trialbed.environments import EnvironmentStore
from trialbed_adapter_lab import releases as lab
from trialbed_adapter_lab.releases import (
    MeasuredRelease,
    ReleaseFolder,
    ReleaseMeasurement,
    measure_releases,
)


def test_two_commands_at_once_measure_a_release_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would take each other's environment away, and keep what is left of it as a finding."""
    begun: list[str] = []
    waiting = asyncio.Event()

    async def one(how: ReleaseMeasurement, release: str, *_: object) -> tuple[MeasuredRelease, str]:
        begun.append(release)
        await waiting.wait()
        return measured(release, kit=how.kit), ""

    monkeypatch.setattr(lab, "measure_release", one)
    store, published = EnvironmentStore(tmp_path / "environments"), {"1.0": ""}
    store.folder.mkdir()
    how = ReleaseMeasurement(framework="acme", profiles=(), themes=(), store=store)
    lines: list[str] = []

    def show(line: str) -> None:
        lines.append(line)
        if "waits" in line:
            waiting.set()

    monkeypatch.setattr(lab, "show_line", show)

    async def both() -> list[list[MeasuredRelease]]:
        folder = ReleaseFolder(tmp_path / "releases", "acme")
        return await asyncio.gather(*(measure_releases(how, published, folder) for _ in range(2)))

    first, second = asyncio.run(asyncio.wait_for(both(), 30))
    assert begun == ["1.0"]
    assert first == second
    assert lines.count("acme 1.0 (1 of 1): waits for another command") == 1


@for_each("package", [trialbed.wire, trialbed_scripted, trialbed_server], ids=lambda package: package.__name__)
def test_the_code_that_a_trial_meets_is_part_of_the_kit(package: ModuleType) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as place:
        store = EnvironmentStore(Path(place))
        before, now = (ReleaseMeasurement(framework="langgraph", profiles=(), themes=(), store=store) for _ in range(2))
        assert before.kit == ReleaseMeasurement(framework="langgraph", profiles=(), themes=(), store=store).kit
        patch.setattr(package, "__path__", [place])
        assert now.kit != before.kit
