"""Plugins in one file: known by a name, run as they were, refused with their lines."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.drivers import driver_info, load_driver
from trialbed.errors import UsageError
from trialbed.installed import offers
from trialbed.plugin_files import given_files, use_file
from trialbed.plugins import plugin_manager

JUDGE = """\
from trialbed.contracts import Judge, Verdict


class Mine(Judge):
    async def judge(self, query, answer, wire):
        return Verdict(status="Solved", value=1.0, reason="always", votes=("Solved",))
"""
SCORER = """\
from trialbed import Score, hookimpl


@hookimpl
def score_trial(context):
    return [Score(name="mine", value=1.0)]
"""

ABSTRACT = "from trialbed.contracts import Judge\n\n\nclass Mine(Judge):\n    pass\n"
MISSPELT = SCORER.replace("score_trial", "score_trail")

WriteFile = Callable[[str, str], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteFile:
    """Writes a file and returns its path; what is made known to this process is forgotten at the end."""
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    monkeypatch.setattr(sys, "path", [*sys.path])

    def write_file(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write_file


def test_a_driver_in_a_file_is_found_by_its_name_and_goes_by_its_content(write: WriteFile) -> None:
    file = use_file("judges", f"{write('judge.py', JUDGE)}:Mine")
    assert (file.name, file.rest) == ("judge.Mine", "")
    assert load_driver("judges", "judge.Mine").__name__ == "Mine"
    assert driver_info("judges", "judge.Mine").distribution == "judge.py-Mine"
    before = given_files()
    assert list(before) == ["judge.Mine"]
    assert len(before["judge.Mine"]) == 16


def test_a_plugin_in_a_file_scores_as_a_foreign_one(write: WriteFile) -> None:
    use_file("plugins", write("scorer.py", SCORER))
    assert plugin_manager(own=False).has_plugin("scorer.py")
    assert [offer.distribution for offer in offers("plugins") if offer.name == "scorer.py"] == ["scorer.py"]


def test_other_processes_run_the_file_as_it_was_beside_its_own_modules(write: WriteFile, tmp_path: Path) -> None:
    write("words.py", "WORD = 'old'\n")
    path = write("judge.py", f"from words import WORD\n{JUDGE}\nSAID = WORD + ' judge'\n")
    use_file("judges", f"{path}:Mine")
    (tmp_path / "judge.py").write_text("raise SystemExit('not what was given')\n")
    code = "import inspect; from trialbed.drivers import load_driver; j = load_driver('judges', 'judge.Mine'); "
    code += "m = inspect.getmodule(j); print(m.SAID, m.__file__)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["old", "judge", path], "")


def test_two_files_of_one_name_are_refused(write: WriteFile, tmp_path: Path) -> None:
    use_file("judges", f"{write('judge.py', JUDGE)}:Mine")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "judge.py").write_text(f"{JUDGE}\n# another\n")
    with pytest.raises(UsageError, match=r"another plugin is called 'judge\.Mine'"):
        use_file("judges", f"{tmp_path / 'other' / 'judge.py'}:Mine")


@for_each(
    "kind, text, attribute, expected",
    [
        ("judges", "import os\nx = 1 +\n", "Mine", 'SyntaxError: invalid syntax (File "{path}", line 2)'),
        ("judges", f"{JUDGE}\n1 / 0\n", "Mine", 'ZeroDivisionError: division by zero (File "{path}", line 8)'),
        ("judges", JUDGE, "Min", "has no 'Min'; did you mean 'Mine'? It has Mine."),
        ("judges", ABSTRACT, "Mine", 'Mine lacks `async def judge(self, query, answer, wire)` (File "{path}", line 4)'),
        ("judges", JUDGE.replace("async ", ""), "Mine", "must have `async def judge(self, query, answer, wire)` (File"),
        ("judges", "class Mine: ...\n", "Mine", 'not a subclass of trialbed.contracts.Judge (File "{path}", line 1)'),
        ("judges", "import os as Mine\n", "Mine", 'not a subclass of trialbed.contracts.Judge (File "{path}", line 1)'),
        ("judges", "import os\nasync def Mine(): ...\n", "Mine", 'trialbed.contracts.Judge (File "{path}", line 2)'),
        ("judges", "from math import *\n", "Mine", "AttributeError: module 'wrong_"),
        ("plugins", SCORER.replace("@hookimpl", ""), "", "are for evaluate(scorers=[…])"),
        ("plugins", MISSPELT, "", "unknown hook 'score_trail' in plugin wrong.py (File \"{path}\", line 5)"),
        ("frameworks", "import this that\n", "Agent", 'SyntaxError: invalid syntax (File "{path}", line 1)'),
    ],
)
def test_what_is_wrong_is_refused_with_its_line_and_not_known_afterwards(
    write: WriteFile, kind: str, text: str, attribute: str, expected: str
) -> None:
    path = write("wrong.py", text)
    with pytest.raises(UsageError) as refused:
        use_file(kind, f"{path}:{attribute}" if attribute else path)
    assert expected.format(path=path) in str(refused.value)
    assert not given_files()


def test_a_missing_file_names_a_close_one(write: WriteFile, tmp_path: Path) -> None:
    write("judge.py", JUDGE)
    with pytest.raises(
        UsageError, match=r"jugde\.py cannot be read: No such file or directory; did you mean 'judge\.py'"
    ):
        use_file("judges", f"{tmp_path / 'jugde.py'}:Mine")
