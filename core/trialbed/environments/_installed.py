"""An installed environment: its folder, its lock, and its metadata."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

import psutil
from pydantic import ValidationError

from trialbed.records import Environment, Record

METADATA, LOCK, VENV = "environment.json", "lock.txt", "venv"
SHORT = 12
"""Digits of a lock's digest in a folder's name."""


class EnvironmentMetadata(Record):
    """The content of ``environment.json``.

    Attributes:
        name: the framework.
        framework_version: of the framework's own distribution; empty if none has the framework's name.
        adapter: the distribution that holds its adapter.
        python: the interpreter that it was built for.
        packages: ``name==version`` of everything installed, sorted.
        size: bytes, when it was built; files that it shares with uv's cache are counted too.
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
class InstalledEnvironment:
    """A complete environment."""

    folder: Path
    metadata: EnvironmentMetadata
    lock: str

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The environment in a folder; None if it is incomplete, or its interpreter is gone."""
        try:
            metadata = EnvironmentMetadata.model_validate_json((folder / METADATA).read_bytes())
            lock = (folder / LOCK).read_text(encoding="utf-8")
        except (OSError, ValidationError, UnicodeDecodeError):
            return None
        return cls(folder, metadata, lock) if venv_python(folder).exists() else None

    @property
    def name(self) -> str:
        """The folder's name: the framework's and the beginning of the lock's digest."""
        return self.folder.name

    @property
    def summary(self) -> str:
        """The framework and its version, for people to read."""
        return f"{self.metadata.name} {self.metadata.framework_version}".rstrip()

    @property
    def environment(self) -> Environment:
        """The environment as an executor uses it."""
        return Environment(python=str(venv_python(self.folder)), lock=self.lock)

    def processes(self) -> list[psutil.Process]:
        """The processes that were started with its interpreter."""
        inside = self.folder.resolve()
        return [process for process in psutil.process_iter(["cmdline"]) if _runs_from(process, inside)]


def folder_name(name: str, lock_digest: str) -> str:
    """The name of an environment's folder."""
    return f"{name}-{lock_digest[:SHORT]}"


def venv_python(folder: Path) -> Path:
    """The interpreter of the environment in a folder."""
    return folder / VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def package_folders(python: str | Path) -> list[Path]:
    """The folders of the packages of the environment that an interpreter belongs to."""
    root = Path(python).parent.parent
    return sorted(root.glob("lib/python*/site-packages")) or sorted(root.glob("Lib/site-packages"))


def _runs_from(process: psutil.Process, folder: Path) -> bool:
    # The interpreter itself is a link to one outside of the environment; the process's first argument has the path.
    command = process.info["cmdline"]
    return bool(command) and Path(command[0]).is_absolute() and Path(command[0]).parent.resolve().is_relative_to(folder)
