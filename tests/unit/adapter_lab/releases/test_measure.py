"""The measurement of releases, without environments."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.released import measured

from trialbed.environments import EnvironmentStore
from trialbed_adapter_lab.releases import (
    MeasuredRelease,
    PublishedRelease,
    ReleaseFolder,
    ReleaseMeasurement,
    measure,
    measure_releases,
)


def test_two_commands_at_once_measure_a_release_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would take each other's environment away, and keep what is left of it as a finding."""
    begun: list[str] = []
    waiting = asyncio.Event()

    async def one(how: ReleaseMeasurement, published: PublishedRelease, *_: object) -> tuple[MeasuredRelease, str]:
        begun.append(published.version)
        await waiting.wait()
        return measured(published.version, kit=how.kit), ""

    monkeypatch.setattr(measure, "measure_release", one)
    store, releases = EnvironmentStore(tmp_path / "environments"), [PublishedRelease(version="1.0")]
    store.folder.mkdir()
    how = ReleaseMeasurement(framework="acme", profiles=(), themes=(), store=store)
    lines: list[str] = []

    def show(line: str) -> None:
        lines.append(line)
        if "waits" in line:
            waiting.set()

    monkeypatch.setattr(measure, "show_line", show)

    async def both() -> list[list[MeasuredRelease]]:
        folder = ReleaseFolder(tmp_path / "releases", "acme")
        return await asyncio.gather(*(measure_releases(how, releases, folder) for _ in range(2)))

    first, second = asyncio.run(asyncio.wait_for(both(), 30))
    assert begun == ["1.0"]
    assert first == second
    assert lines.count("acme 1.0 (1 of 1): waits for another command") == 1
