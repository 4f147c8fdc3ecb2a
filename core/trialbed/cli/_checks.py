"""What ``bench doctor`` looks at."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trialbed.cli._inventory import inventory
from trialbed.engine import dataset_driver
from trialbed.errors import TrialbedError
from trialbed.settings import data_dir, read_settings_file, state_dir

COLOURS = {"ok  ": "green", "none": "yellow", "bad ": "red"}
KNOWN_ADAPTERS = ("langgraph",)
"""Frameworks whose adapters are published with this version."""


@dataclass(frozen=True)
class Check:
    """One finding: ``ok  ``, ``none`` (absent, not needed) or ``bad `` (there but cannot work)."""

    mark: str
    subject: str
    finding: str
    remedy: str = ""

    @property
    def colour(self) -> str:
        """The mark's colour on a terminal."""
        return COLOURS[self.mark]

    def as_json(self) -> dict[str, str]:
        """For ``--json``."""
        return {
            "state": self.mark.strip(),
            "subject": self.subject,
            "finding": self.finding,
            "remedy": self.remedy,
        }


def checks() -> Iterator[Check]:
    """Every check, in the order in which a newcomer meets what it is about."""
    yield Check("ok  ", "python", f"{platform.python_version()} at {os.path.realpath(sys.executable)}")
    yield from _settings()
    yield _folder("state", state_dir())
    yield _folder("data", data_dir())
    yield from _drivers()
    yield from _datasets()
    yield from _keys()
    yield _uv()


def _settings() -> Iterator[Check]:
    try:
        found = read_settings_file(Path.cwd())
    except TrialbedError as error:
        yield Check("bad ", "settings", str(error))
        return
    yield Check("ok  ", "settings", str(found.path) if found else "no bench.toml; defaults hold")


def _folder(subject: str, folder: Path) -> Check:
    nearest = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if os.access(nearest, os.W_OK):
        return Check("ok  ", subject, f"{folder} can be written")
    return Check(
        "bad ", subject, f"{folder} cannot be written", f"set TRIALBED_{subject.upper()}_DIR to a folder that can"
    )


def _drivers() -> Iterator[Check]:
    items = inventory()
    for item in items:
        if item.problem:
            yield Check("bad ", f"{item.kind} {item.name}", item.problem, f"update or uninstall {item.distribution}")
    working = [item.name for item in items if item.kind == "frameworks" and not item.problem]
    yield Check("ok  ", "frameworks", ", ".join(working))
    for name in KNOWN_ADAPTERS:
        if name not in {item.name for item in items if item.kind == "frameworks"}:
            yield Check("none", name, "adapter not installed", f"pip install trialbed-{name}")


def _datasets() -> Iterator[Check]:
    if dataset_driver("stabletoolbench").test_sets(data_dir()):
        yield Check("ok  ", "stabletoolbench", "imported")
    else:
        yield Check(
            "none", "stabletoolbench", "not imported", "bench data import DIR, DIR being a checkout of StableToolBench"
        )


def _keys() -> Iterator[Check]:
    if os.environ.get("OPENAI_API_KEY"):
        yield Check("ok  ", "key", "OPENAI_API_KEY is set (its value is never shown)")
    else:
        yield Check("none", "key", "OPENAI_API_KEY is not set", "only real models need one: put it into .env")


def _uv() -> Check:
    found = shutil.which("uv")
    return Check("ok  ", "uv", found) if found else Check("none", "uv", "not found", "pip install uv")
