"""The files around the code name commands, versions and folders that exist."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
MAKE = re.compile(r"(?:`|^\$ |run: |&& )make ([a-z][a-z-]*)", re.MULTILINE)
PINNED = re.compile(r"^[\w-]+/[\w-]+@(release/)?v\d+$|^\./\.github/workflows/\w+\.yml$")


def read_yaml(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def read_ini(name: str) -> configparser.ConfigParser:
    found = configparser.ConfigParser()
    found.read(ROOT / name, encoding="utf-8")
    return found


def targets() -> set[str]:
    (line,) = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    return set(line.split())


def test_make_without_a_target_lists_every_target() -> None:
    done = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True)
    shown = re.findall(r"^make ([a-z-]+) +\S", done.stdout, re.MULTILINE)
    assert sorted(shown) == sorted(targets())


def test_the_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    def notes(version: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(ROOT / ".ci" / "notes.py"), version]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = notes(read_ini("setup.cfg")["metadata"]["version"])
    assert done.stdout.strip()
    assert "\n## " not in done.stdout
    missing = notes("99.0.0")
    assert missing.returncode == 1
    assert "has no section `## [99.0.0]" in missing.stderr
