"""The test set that ``bench verify`` sends, and its progress."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from support.cases import for_each
from support.trials import ended
from support.verification import target

from trialbed.cli.progress import PlainProgress
from trialbed_verify.cli.verify import chosen_test_set, command
from trialbed_verify.suites import SUITES
from trialbed_verify.verification import Target
from trialbed_verify.verification.progress import EndpointProgress, verify_progress


@pytest.fixture
def one(tmp_path: Path) -> Target:
    return target("http://vendor.example/v1", tmp_path)


def advance(progress: EndpointProgress, one: Target, count: int, *, failed: bool = False) -> None:
    for _ in range(count):
        progress.advance(one, ended("endpoint" if failed else None))


def test_failures_are_counted_apart(one: Target, capsys: pytest.CaptureFixture[str]) -> None:
    progress = EndpointProgress(PlainProgress())
    progress.begin(one, 4, 2)
    advance(progress, one, 1, failed=True)
    advance(progress, one, 1)
    assert capsys.readouterr().err.splitlines() == [
        f"m at vendor.example: 4 requests, 2 of them already answered -> {one.output}",
        "m at vendor.example: [3/4] 1 failed",
        "m at vendor.example: [4/4] 1 failed",
    ]


def test_whatever_ends_it_early_it_says_how_to_go_on(one: Target, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        with verify_progress() as progress:
            progress.begin(one, 4, 1)
            advance(progress, one, 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capsys.readouterr().err.endswith(
        "2 requests are complete and kept; the same command continues from there.\n"
    )


def test_a_suite_is_a_file_only_as_long_as_it_is_sent() -> None:
    with chosen_test_set(None, ["leaks", "constraints", "leaks"]) as path:
        assert path.name == "leaks+constraints.jsonl"
        assert len(path.read_bytes().splitlines()) >= SUITES["leaks"].size + SUITES["constraints"].size
    assert not path.exists()


@for_each(("given", "message"), [((None, []), "name one test set"), ((Path("a"), ["leaks"]), "name one test set")])
def test_one_test_set_is_named(given: tuple[Path | None, list[str]], message: str) -> None:
    with pytest.raises(click.UsageError, match=message), chosen_test_set(*given):
        pass


def test_suites_and_models_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = CliRunner().invoke(command, ["--list-suites"]).stdout.splitlines()
    assert [line.split() for line in shown[:5:2]] == [["Suites"], ["suite", "cases"], ["triggering", "200"]]
    assert f"leaks: {SUITES['leaks'].about}." in shown
    listed = json.loads(CliRunner().invoke(command, ["--list-suites", "--json"]).stdout)
    assert {name: about["cases"] for name, about in listed.items()} == {name: one.size for name, one in SUITES.items()}
    assert isinstance(json.loads(CliRunner().invoke(command, ["--list-models", "--json"]).stdout), dict)


def test_the_requests_of_suites_are_written_to_a_file_once(tmp_path: Path) -> None:
    arguments = ["--suite", "leaks", "--write-test-set", str(tmp_path / "leaks.jsonl")]
    assert CliRunner().invoke(command, arguments).exit_code == 0
    assert json.loads((tmp_path / "leaks.jsonl").read_bytes().split(b"\n")[0])["suite"]["name"] == "leaks"
    assert "already exists" in CliRunner().invoke(command, arguments).output
    assert "name one" in CliRunner().invoke(command, arguments[2:]).output
