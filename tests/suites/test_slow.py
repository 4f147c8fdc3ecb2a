"""`make test-slow` runs every slow test."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from support.scheduling import ALONE

ROOT = Path(__file__).parents[2]
SLOW_MARK = re.compile(r"\bmark\.(slow|packaging)\b")


def test_it_is_given_every_file_of_slow_tests_and_no_other() -> None:
    done = subprocess.run(["make", "--dry-run", "test-slow"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [file for root in ("tests", "adapters") for file in (ROOT / root).rglob("test_*.py")]
    slow = {str(file.relative_to(ROOT)) for file in files if SLOW_MARK.search(file.read_text())}
    assert slow
    assert {word for word in done.stdout.split() if Path(word).match("test_*.py")} == slow


def test_files_whose_tests_are_given_out_one_by_one_are_there() -> None:
    assert [name for name in ALONE if not (ROOT / name).is_file()] == []
