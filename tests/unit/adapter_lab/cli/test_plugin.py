"""``bench plugin check``: finds installed plugins and files, and says with its exit code whether they conform."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.cli import main

JUDGE = """\
from trialbed.contracts import Judge, Verdict


class Mine(Judge):
    async def judge(self, query, answer, wire):
        return Verdict(status="Solved", value=VALUE, reason="always", votes=("Solved",))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder; what is made known to this process is forgotten at the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def test_a_plugin_that_conforms_exits_with_0_and_shows_its_badge(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugin", "check", "query"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[-1].startswith("query ")
    assert "must 6/6" in shown.out
    assert "✓ no_more_than_asked_for (must, " in shown.err


def test_a_defect_exits_with_1_and_says_what_was_expected_and_seen(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "judge.py").write_text(JUDGE.replace("VALUE", "0.4"))
    assert main(["plugin", "check", "./judge.py:Mine", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    problems = [finding for finding in report["findings"] if finding["outcome"] == "failed"]
    assert [finding["check"] for finding in problems] == ["verdicts_follow_from_their_votes"]
    assert problems[0]["message"].startswith(
        "expected the value 1 for a right answer, the mean of its votes; seen: 0.4"
    )
    assert report["conformant"] is False
    assert (report["plugin"], report["distribution"]) == ("judge.Mine", "judge.py-Mine")
    assert not {"framework", "adapter", "adapter_version"} & report.keys()


@for_each(
    "kind, text, said",
    [
        ("judge", "./judge.py", "name the class in it: ./judge.py:NAME"),
        ("scorer", "./judge.py:Mine", "hooks are a file as a whole: ./judge.py"),
    ],
)
def test_a_file_that_is_named_in_the_form_of_another_kind_is_not_found(
    folder: Path, capsys: pytest.CaptureFixture[str], kind: str, text: str, said: str
) -> None:
    (folder / "judge.py").write_text(JUDGE.replace("VALUE", "1.0"))
    assert main(["plugin", "check", text, "--kind", kind]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_cannot_be_loaded_fails_without_advice_about_its_contract(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken.py").write_text("def score(:\n")
    assert main(["plugin", "check", "./broken.py"]) == 1
    shown = capsys.readouterr().out
    assert "SyntaxError" in shown
    assert "nothing else can be tried" in shown
    assert "hint" not in shown


def test_a_class_that_lacks_a_method_fails_with_its_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "executor.py").write_text(
        "from trialbed.contracts import Executor\n\n\nclass Mine(Executor):\n    pass\n"
    )
    assert main(["plugin", "check", "./executor.py:Mine"]) == 1
    shown = capsys.readouterr().out
    assert "✗ fits_its_contract (must): failed" in shown
    assert "Mine lacks `async def __aexit__(" in shown
    assert f'(File "{folder / "executor.py"}", line 4)' in shown


@for_each(
    "arguments, words",
    [
        (["nobody"], "no plugin is called 'nobody'"),
        (["bfcl"], "say which with --kind"),
        (["./nothing.py:Mine"], "cannot be read"),
        (["rule", "--check", "verdicts_have_reason"], "did you mean 'verdicts_have_a_reason'"),
    ],
)
def test_what_cannot_be_checked_exits_with_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["plugin", "check", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_one_check_can_be_chosen_and_so_can_the_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugin", "check", "llm", "--kind", "judge", "--check", "unreadable_replies_are_judge_errors"]) == 0
    assert "must 1/1" in capsys.readouterr().out
