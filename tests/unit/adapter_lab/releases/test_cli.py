"""``bench releases``, without measuring anything."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

import click
import pytest
from support.cases import for_each
from support.released import measured

from trialbed.errors import NothingMeasured, UsageError
from trialbed_adapter_lab import releases
from trialbed_adapter_lab.cli.releases import command
from trialbed_adapter_lab.releases import KnownReleases, MeasuredRelease, ReleaseFolder


def run(*arguments: object) -> int | None:
    """The exit code."""
    code: int | None = command.main([*map(str, arguments)], standalone_mode=False)
    return code


@for_each(
    "framework, advice",
    [
        ("langgraph==1.0.0", "--from and --to choose releases"),
        ("langgraph:native", "--profile"),
        ("reference", "is a part of trialbed"),
    ],
)
def test_a_framework_is_named_alone(framework: str, advice: str) -> None:
    with pytest.raises(UsageError, match=advice):
        run(framework, "--kept")


def test_an_empty_folder_has_nothing_to_show(tmp_path: Path) -> None:
    with pytest.raises(
        NothingMeasured, match="langgraph: nothing was measured yet; run bench releases langgraph --most 4"
    ):
        run("langgraph", "--kept", "--folder", tmp_path)


def test_the_releases_of_a_folder_are_shown_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for one in (measured("1.0"), measured("1.1", content="Hello, be brief"), measured("1.2", content="No")):
        ReleaseFolder(tmp_path, "acme").keep(one, "")
    kept = ("acme", "--kept", "--folder", tmp_path)
    assert run(*kept, "-o", tmp_path / "acme.json") == 0
    assert "acme 1.0 to 1.2: 2 of 2 steps between neighbours changed something: 1.1, 1.2." in capsys.readouterr().out
    assert run(*kept, "--from", "1.1", "--json") == 0
    assert [row["release"] for row in json.loads(capsys.readouterr().out)["releases"]] == ["1.1", "1.2"]
    run(*kept, "--format", "markdown")
    assert "\n## 1.1, after 1.0\n" in capsys.readouterr().out
    assert json.loads((tmp_path / "acme.json").read_text())["framework"] == "acme"


def test_a_folder_without_a_measured_release_in_the_range_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ReleaseFolder(tmp_path, "acme").keep(measured("1.0", failure="uv says: no", figures=(), packages=()), "")
    kept = ("acme", "--kept", "--folder", tmp_path)
    with pytest.raises(NothingMeasured, match="no release of acme could be measured; see the reasons above"):
        run(*kept)
    assert "1.0 was not measured: uv says: no" in capsys.readouterr().out
    with pytest.raises(NothingMeasured, match="no release of acme in this range was measured yet"):
        run(*kept, "--from", "2.0")


class Terminal(io.StringIO):
    """A terminal on which somebody types."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_nothing_is_built_without_a_question() -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as name:
        built = _without_building(patch)
        ReleaseFolder(Path(name), "langgraph").keep(measured("1.0.0"), "")
        options = ("langgraph", "--most", "2", "--folder", name, "--env-dir", name)
        patch.setattr("sys.stdin", io.StringIO())
        with pytest.raises(UsageError, match=r"langgraph 1\.0\.2: each needs"):
            run(*options)
        assert built == []
        asked = _answer_yes(patch)
        run(*options)
        assert built == ["1.0.2"]
        assert len(asked) == 1, "once for all"


def test_a_change_fails_once_and_an_interrupted_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ReleaseFolder(tmp_path, "langgraph").keep(measured("1.0.0", content="1.0.0"), "")
    places = ("--folder", tmp_path, "--env-dir", tmp_path / "environments")
    watch = ("langgraph", "--fail-if-changed", "--yes", *places)
    built = _without_building(monkeypatch, stop_after="1.0.1")
    with pytest.raises(click.Abort):
        run(*watch)
    assert built == ["1.0.1"]

    built = _without_building(monkeypatch)
    capsys.readouterr()
    assert run(*watch) == 1
    assert built == ["1.0.2"]
    changes = "langgraph 1.0.0 to 1.0.2: 2 of 2 steps between neighbours changed something: 1.0.1, 1.0.2."
    assert changes in " ".join(capsys.readouterr().out.split())
    assert run(*watch) == 0


def _without_building(patch: pytest.MonkeyPatch, stop_after: str = "") -> list[str]:
    """Let releases be measured without environments; return those that were.

    Args:
        stop_after: the release after which the user presses Ctrl-C; empty for none.
    """
    built: list[str] = []

    async def known(*_: object) -> KnownReleases:
        published = {f"1.0.{number}": "" for number in range(3)}
        return KnownReleases(package="langgraph", published=published)

    async def measure_all(how: object, wanted: dict[str, str], folder: ReleaseFolder) -> list[MeasuredRelease]:
        found = []
        for one in wanted:
            built.append(one)
            found.append(measured(one, content=one))
            folder.keep(found[-1], "")
            if one == stop_after:
                raise KeyboardInterrupt
        return found

    patch.setattr(releases, "known_releases", known)
    patch.setattr(releases.ReleaseMeasurement, "kit", measured("1.0.0").kit)
    patch.setattr(releases, "measure_releases", measure_all)
    return built


def _answer_yes(patch: pytest.MonkeyPatch) -> list[str]:
    """Sit at a terminal and agree; return the questions."""
    asked: list[str] = []

    def confirm(question: str, **_: object) -> bool:
        asked.append(question)
        return True

    patch.setattr("sys.stdin", Terminal())
    patch.setattr("sys.stderr", Terminal())
    patch.setattr(click, "confirm", confirm)
    return asked
