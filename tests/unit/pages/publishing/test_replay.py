"""The replay of published runs: what is started, with which variables, and what is asked before."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from unit.pages.publishing.test_folder import EVIDENCE, manifest
from unit.pages.publishing.test_page import run

from trialbed.errors import DataError, UsageError
from trialbed_pages.publishing._folder import write_publication
from trialbed_pages.publishing._replay import chosen_runs
from trialbed_pages.publishing._replay import replay as replay_runs
from trialbed_pages.publishing.commands import reproduce as command

BOTH = ("--framework", "reference", "--framework", "crewai:native")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "out"
    there = manifest()
    source = there.runs[0].model_copy(update={"arguments": (*BOTH, "--max-steps", "8")})
    write_publication(place, there.model_copy(update={"runs": (source,)}), [run()], EVIDENCE)
    (place / "datasets" / "more.py").write_text("no part of the publication")
    return place


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[SimpleNamespace]:
    """The commands that were started, each of which failed."""
    found: list[SimpleNamespace] = []

    def start(command: list[str], *, cwd: Path, env: dict[str, str], **_: object) -> SimpleNamespace:
        files = {str(path.relative_to(cwd)) for path in cwd.rglob("*") if path.is_file()}
        found.append(SimpleNamespace(command=command, cwd=cwd, env=env, files=files))
        return SimpleNamespace(returncode=2)

    monkeypatch.setattr(subprocess, "run", start)
    return found


def replay(folder: Path, work: Path, *frameworks: str) -> None:
    from trialbed_pages.publishing._manifest import read_manifest

    there = read_manifest(folder)
    runs = chosen_runs(folder, there, frameworks)
    with pytest.raises(UsageError, match="bench run ended with 2"):
        replay_runs(folder, there, runs, work / "w", work / "data")


def test_a_replay_has_no_keys_and_no_settings_of_its_user(
    folder: Path, tmp_path: Path, started: list[SimpleNamespace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "OPENAI_API_KEY": "sk-canary",
        "TRIALBED_MAX_STEPS": "1",
        "TRIALBED_JUDGE_MODEL": "gpt",
        "TRIALBED_ENV_DIR": "envs",
        "PLAIN": "kept",
    }.items():
        monkeypatch.setenv(name, value)
    replay(folder, tmp_path)
    (one,) = started
    assert {"OPENAI_API_KEY", "TRIALBED_MAX_STEPS", "TRIALBED_JUDGE_MODEL"} & {*one.env} == set()
    assert one.env["PLAIN"] == "kept"
    assert one.env["TRIALBED_ENV_DIR"] == str(tmp_path / "envs")
    assert one.files == {"bench.toml", ".env", "datasets/harbour.py"}
    assert "--max-steps=8" in one.command


def test_a_chosen_set_up_alone_is_replayed_and_one_that_is_not_there_is_an_error(
    folder: Path, tmp_path: Path, started: list[SimpleNamespace]
) -> None:
    replay(folder, tmp_path, "crewai")
    assert [word for word in started[0].command if "--framework" in word] == ["--framework=crewai:native"]
    with pytest.raises(UsageError, match=r"has 'refrence'; there are reference, crewai:native"):
        replay(folder, tmp_path, "reference", "refrence")
    assert len(started) == 1


def test_pages_alone_cannot_be_made_again(tmp_path: Path) -> None:
    write_publication(tmp_path / "out", manifest().model_copy(update={"runs": ()}), [], {})
    ended = CliRunner().invoke(command, [str(tmp_path / "out")])
    assert isinstance(ended.exception, UsageError)
    assert "pages about vendors cannot be made again" in str(ended.exception)


def test_numbers_of_other_set_ups_than_those_of_the_run_are_refused(tmp_path: Path) -> None:
    there = write_publication(tmp_path / "out", manifest(), [run()], EVIDENCE)
    with pytest.raises(DataError, match="the numbers are of other frameworks than the run"):
        chosen_runs(tmp_path / "out", there, ())


def test_code_of_a_folder_runs_only_with_consent(folder: Path, started: list[SimpleNamespace]) -> None:
    asked = CliRunner().invoke(command, [str(folder), "-f", "reference"])
    assert isinstance(asked.exception, UsageError)
    assert "datasets/harbour.py: code of this folder would run with your rights" in str(asked.exception)
    assert started == []
    CliRunner().invoke(command, [str(folder), "-f", "reference", "--yes"])
    assert len(started) == 1


def test_nothing_that_was_replayed_is_no_success(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trialbed_pages.publishing import _replay
    from trialbed_pages.publishing._replay import Reproduction

    monkeypatch.setattr(_replay, "replay", lambda *_: Reproduction(0, (), (), (), {}))
    ended = CliRunner().invoke(command, [str(folder), "-f", "reference", "--yes"])
    assert (ended.exit_code, ended.output) == (1, "0 trials replayed; nothing was compared\n")
