"""`make test-slow` runs every slow test."""

from __future__ import annotations

import re
from pathlib import Path

from support.scheduling import ALONE

ROOT = Path(__file__).parents[2]
FOLDERS = re.compile(r"^SLOW := (.+)$", re.MULTILINE)
SLOW_MARK = re.compile(r"\bmark\.(slow|packaging)\b")


def test_slow_tests_are_in_the_folders_that_it_collects() -> None:
    (names,) = FOLDERS.findall((ROOT / "Makefile").read_text())
    folders = [ROOT / name for name in names.split()]
    assert all(folder.is_dir() for folder in folders)
    files = [file for root in ("tests", "adapters") for file in (ROOT / root).rglob("test_*.py")]
    slow = [file for file in files if SLOW_MARK.search(file.read_text())]
    assert slow
    assert [file for file in slow if not any(folder in file.parents for folder in folders)] == []


def test_files_whose_tests_are_given_out_one_by_one_are_there() -> None:
    assert [name for name in ALONE if not (ROOT / name).is_file()] == []
