"""An environment on the shelf: its folder, its lock, and what is written about it."""

from __future__ import annotations

import sys
import sysconfig
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from trialbed.records import Environment, Record

ABOUT, LOCK, VENV = "environment.json", "lock.txt", "venv"
SHORT = 12
"""Digits of a lock's digest in a folder's name."""


class About(Record):
    """What ``environment.json`` says of an environment.

    Attributes:
        name: the framework.
        framework_version: of the framework's own distribution; empty if it has none by that name.
        adapter: the distribution that holds its adapter.
        python: the interpreter that it was built for.
        packages: ``name==version`` of everything installed, sorted.
        size: bytes, when it was built; what uv's cache shares with it is counted too.
        uv: the version that built it.
    """

    name: str
    framework_version: str
    adapter: str
    adapter_version: str
    python: str
    packages: tuple[str, ...]
    lock_digest: str
    size: int
    created_at: datetime
    uv: str


@dataclass(frozen=True)
class Built:
    """A complete environment."""

    folder: Path
    about: About
    lock: str

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The environment in a folder; None if it is incomplete, or its interpreter is gone."""
        try:
            about = About.model_validate_json((folder / ABOUT).read_bytes())
            lock = (folder / LOCK).read_text(encoding="utf-8")
        except (OSError, ValidationError, UnicodeDecodeError):
            return None
        return cls(folder, about, lock) if venv_python(folder).exists() else None

    @property
    def title(self) -> str:
        """The folder's name: the framework's and the beginning of the lock's digest."""
        return self.folder.name

    @property
    def summary(self) -> str:
        """The framework and its version, as people say it."""
        return f"{self.about.name} {self.about.framework_version}".rstrip()

    @property
    def environment(self) -> Environment:
        """What an executor is given."""
        return Environment(python=str(venv_python(self.folder)), lock=self.lock)


def folder_name(name: str, lock_digest: str) -> str:
    """What the folder of an environment is called."""
    return f"{name}-{lock_digest[:SHORT]}"


def venv_python(folder: Path) -> Path:
    """The interpreter of the environment in a folder."""
    return folder / VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def site_packages(folder: Path) -> Path:
    """Where its packages are."""
    base = str(folder / VENV)
    return Path(sysconfig.get_path("purelib", "venv", {"base": base, "platbase": base}))
