"""Which releases there are, which are measured, and how."""

from __future__ import annotations

import asyncio
import json
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
from trialbed.errors import DataError, NothingMeasured, UsageError
from trialbed_adapter_lab import releases as lab
from trialbed_adapter_lab.releases import (
    KnownReleases,
    MeasuredRelease,
    ReleaseFolder,
    ReleaseMeasurement,
    choose,
    indexes,
    measure_releases,
    published_releases,
    releases_on,
    version_range,
)

VERSIONS = ("0.9", "1.0", "1.1", "1.2", "1.3", "2.0", "2.2", "3.0")
KNOWN = KnownReleases(allowed=">=1,<3", published=dict.fromkeys(VERSIONS, ""))


@for_each(
    "first, last, most, expected",
    [
        ("", "", 0, ["1.0", "1.1", "1.2", "1.3", "2.0", "2.2"]),
        ("1.2", "2.0", 0, ["1.2", "1.3", "2.0"]),
        ("", "", 3, ["1.0", "1.2", "2.2"]),
        ("", "", 1, ["2.2"]),
        ("", "", 9, ["1.0", "1.1", "1.2", "1.3", "2.0", "2.2"]),
    ],
)
def test_the_oldest_and_the_newest_are_always_among_them(first: str, last: str, most: int, expected: list[str]) -> None:
    assert choose(KNOWN, version_range(first, last), most) == expected


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(UsageError, match="no release is in the range >=5 that the adapter allows"):
        choose(KNOWN, version_range("5"))


FILES = [
    {"filename": "acme-1.10-py3-none-any.whl", "upload-time": "2026-01-03T00:00:00Z", "yanked": False},
    {"filename": "acme-1.10.tar.gz", "upload-time": "2026-01-02T00:00:00Z", "yanked": False},
    {"filename": "acme-1.9-py3-none-any.whl", "yanked": "broken\nimport"},
    {"filename": "acme-1.9.tar.gz", "yanked": "broken\nimport"},
    {"filename": "acme-2.0rc1-py3-none-any.whl", "yanked": True},
    {"filename": "acme-2.0rc1.tar.gz", "yanked": False},
    {"filename": "acme-1.11.tar.gz", "yanked": "broken"},
    {"filename": "acme-1.11-py3-none-any.whl"},
    {"filename": "acme_tools-9.0-py3-none-any.whl"},
    {"filename": "acme-windows.exe"},
    {"filename": f"acme-{'1.' * 500}0.tar.gz"},
]


def test_a_page_in_json_gives_each_release_once_in_order() -> None:
    """Without pre-releases, and withdrawn ones unless one of their files can still be had."""
    found = releases_on(json.dumps({"files": [*FILES, "nonsense"]}).encode(), "acme")
    assert [*found.items()] == [("1.10", "2026-01-02T00:00:00Z"), ("1.11", "")]


@for_each("page", [b'{"files": [', b"[]", b"<!DOCTYPE html><a>acme-1.0.tar.gz</a>"])
def test_a_page_that_is_cut_or_of_another_form_is_refused(page: bytes) -> None:
    with pytest.raises(DataError, match="page of acme is not a list of files in JSON"):
        releases_on(page, "acme")


def test_indexes_are_those_of_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    assert indexes() == ["https://pypi.org/simple"]
    monkeypatch.setenv("UV_INDEX", "own=https://one/simple https://two/simple?a=b")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://three/simple")
    assert indexes() == ["https://one/simple", "https://two/simple?a=b", "https://three/simple"]


def test_an_index_that_cannot_be_reached_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with another exit code than a release that changes something."""
    for variable in ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    with pytest.raises(NothingMeasured, match=r"127\.0\.0\.1: its page of acme cannot be read: ConnectError"):
        published_releases("acme")
    assert NothingMeasured.exit_code == 3


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
