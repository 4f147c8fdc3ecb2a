"""``bench adapter check --failed``: what it runs, and what is remembered for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from trialbed.cli import main
from trialbed_adapter_lab import CHECKS, CheckFinding, ConformanceReport
from trialbed_adapter_lab.cli import _failed, _runner

FIRST, SECOND, THIRD = (check.name for check in CHECKS[:3])

Checked = Callable[..., list[str]]


def report(ran: Sequence[str], fails: Collection[str]) -> ConformanceReport:
    findings = (
        CheckFinding(check=name, level="must", outcome="failed" if name in fails else "passed", message="expected …")
        for name in ran
    )
    return ConformanceReport(framework="reference", version="1", findings=tuple(findings))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where failures are remembered."""
    monkeypatch.setattr(_failed, "user_cache_path", lambda *_: tmp_path)
    return tmp_path / "conformance"


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Checked:
    """``bench adapter check reference`` with a kit of which these checks fail: the checks that were run."""

    def run(*options: str, fails: Collection[str] = ()) -> list[str]:
        ran: list[str] = []

        def run_kit(_framework: str, _environment: object, arguments: Sequence[str]) -> ConformanceReport:
            named = [name for option, name in pairwise(arguments) if option == "--check"]
            ran.extend(named or [FIRST, SECOND, THIRD])
            return report(ran, fails)

        monkeypatch.setattr(_runner, "run_kit", run_kit)
        assert main(["adapter", "check", "reference", *options]) == bool(set(ran) & set(fails))
        return ran

    return run


def test_only_what_failed_last_time_is_run(check: Checked) -> None:
    check(fails={FIRST, THIRD})
    assert check("--failed", fails={THIRD}) == [FIRST, THIRD]
    assert check("--failed") == [THIRD]


def test_all_is_run_and_that_is_said_if_nothing_failed(check: Checked, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("--failed") == [FIRST, SECOND, THIRD]
    assert "no check of reference failed last time: running all" in capsys.readouterr().err
    assert check("--failed", "--check", SECOND) == [SECOND]
    assert "no check of reference failed last time: running these" in capsys.readouterr().err


def test_what_was_not_run_again_has_still_failed(check: Checked) -> None:
    check(fails={FIRST, SECOND})
    check("--check", FIRST)
    assert check("--failed") == [SECOND]


def test_a_choice_of_checks_is_narrowed_to_those_that_failed(check: Checked) -> None:
    check(fails={FIRST, SECOND})
    assert check("--failed", "--check", SECOND, "--check", THIRD) == [SECOND]


def test_each_profile_and_release_is_remembered_apart() -> None:
    names = ("acme:controlled", "acme:native", "acme", "acme==1.2")
    for name, failed in zip(names, (FIRST, SECOND, THIRD, FIRST), strict=True):
        _failed.note_failed(name, report([FIRST, SECOND, THIRD], {failed}))
    assert [_failed.failed_checks(name, ()) for name in names] == [(FIRST,), (SECOND,), (THIRD,), (FIRST,)]


@pytest.mark.parametrize("content", [b"", b"\xff", b"{}", b"[1, null]", b'["a check of another release"]'])
def test_what_cannot_be_read_or_is_no_check_any_more_is_forgotten(folder: Path, content: bytes) -> None:
    folder.mkdir()
    (folder / "acme.json").write_bytes(content)
    assert _failed.failed_checks("acme", ()) == ()


def test_a_folder_that_cannot_be_written_costs_nothing_else(folder: Path) -> None:
    folder.write_text("a file in its place")
    _failed.note_failed("acme", report([FIRST], {FIRST}))
    assert _failed.failed_checks("acme", ()) == ()
