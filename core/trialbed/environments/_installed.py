"""An environment that is installed: its lock, its packages and its sources."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

import psutil
from packaging.utils import canonicalize_name
from pydantic import ValidationError

from trialbed.environments._requirements import local_states, python_id, without_credentials
from trialbed.errors import DataError
from trialbed.records import Environment, Record

HASH = " --hash="
"""Stands before each digest of a file that a line of a lock allows."""

_PINNED = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==(?P<version>[^\s;*]+)(?:\s+--hash=\S+)*")
_DIRECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?\s*@\s*\S+(?:\s+--hash=\S+)*")
_EDITABLE = re.compile(r"-e\s+file:\S+")


def lock_text(lines: Iterable[str]) -> str:
    """The lock of these exact requirements, for this interpreter and the present state of local files and folders."""
    exact = [without_credentials(line) for line in lines]
    written = (line.replace(HASH, f" \\\n   {HASH}") for line in exact)
    return "\n".join([f"# {python_id()}", *local_states(exact), *written, ""])


def lock_digest(text: str) -> str:
    """SHA-256 of a lock; its first digits are part of the environment's name."""
    return hashlib.sha256(text.encode()).hexdigest()


def requirements(text: str) -> tuple[str, ...]:
    """The requirements of a lock, without comments, each on one line."""
    joined = re.sub(r"(?:(?<!\s)\s+)?\\\n\s*", " ", text)
    return tuple(line.strip() for line in joined.splitlines() if line.strip() and not line.strip().startswith("#"))


def read_lock(text: str, source: str) -> tuple[str, ...]:
    """The requirements of a lock that a user gives.

    Raises:
        DataError: a line is not exact; names the source and the line.
    """
    lines = tuple(re.sub(r"(?<!\s)\s+#\s.*$", "", line) for line in requirements(text))
    for line in lines:
        if not (_PINNED.fullmatch(line) or _DIRECT.fullmatch(line) or _EDITABLE.fullmatch(line)):
            raise DataError(
                f"{source}: {without_credentials(line)!r} is not allowed in a lock: each line must be NAME==VERSION, "
                "NAME @ URL or -e file:URL; indexes are set by UV_DEFAULT_INDEX and UV_INDEX"
            )
    if not lines:
        raise DataError(f"{source}: this lock is empty; `bench env lock NAME --output FILE` writes one")
    return lines


def locked_version(text: str, package: str) -> str | None:
    """The version of a package in a lock; None if the package is not in it or comes from a URL."""
    found = (_PINNED.fullmatch(line) for line in requirements(text))
    wanted = canonicalize_name(package)
    return next((match["version"] for match in found if match and canonicalize_name(match["name"]) == wanted), None)


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
