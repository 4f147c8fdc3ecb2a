"""Installed environments with their locks, and the folder that holds them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Self

from filelock import AsyncFileLock, FileLock, Timeout
from packaging.utils import canonicalize_name
from pydantic import ValidationError

from trialbed.environments._distributions import local_states, python_id, without_credentials
from trialbed.environments._frameworks import FrameworkSpec, adapter_requirement, own_requirement
from trialbed.errors import DataError, EnvironmentFailed, UsageError
from trialbed.files import replace_file
from trialbed.records import Environment, Record

HASH = " --hash="
"""Stands before each digest of a file that a line of a lock allows."""

_PINNED = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==(?P<version>[^\s;*]+)(?:\s+--hash=\S+)*")
_DIRECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?\s*@\s*\S+(?:\s+--hash=\S+)*")
_EDITABLE = re.compile(r"-e\s+file:\S+")


def lock_text(lines: Iterable[str]) -> str:
    """Return the lock of these exact requirements, for this interpreter and the present state of local files."""
    exact = [without_credentials(line) for line in lines]
    written = (line.replace(HASH, f" \\\n   {HASH}") for line in exact)
    return "\n".join([f"# {python_id()}", *local_states(exact), *written, ""])


def lock_digest(text: str) -> str:
    """SHA-256 of a lock; its first digits are part of the environment's name."""
    return hashlib.sha256(text.encode()).hexdigest()


def requirements(text: str) -> tuple[str, ...]:
    """Return the requirements of a lock, without comments, each on one line."""
    joined = re.sub(r"(?:(?<!\s)\s+)?\\\n\s*", " ", text)
    return tuple(line.strip() for line in joined.splitlines() if line.strip() and not line.strip().startswith("#"))


def read_lock(text: str, source: str) -> tuple[str, ...]:
    """Return the requirements of a lock that a user gives.

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
    """Return the version of a package in a lock; None if the package is not in it or comes from a URL."""
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
        """Return the environment in a folder; None if it is incomplete, or its interpreter is gone."""
        try:
            metadata = EnvironmentMetadata.model_validate_json((folder / METADATA).read_bytes())
            lock = (folder / LOCK).read_text(encoding="utf-8")
        except (OSError, ValidationError, UnicodeDecodeError):
            return None
        return cls(folder, metadata, lock) if venv_python(folder).exists() else None

    @property
    def name(self) -> str:
        """The folder's name, made of the framework's and the beginning of the lock's digest."""
        return self.folder.name

    @property
    def summary(self) -> str:
        """The framework and its version, for people to read."""
        return f"{self.metadata.name} {self.metadata.framework_version}".rstrip()

    @property
    def environment(self) -> Environment:
        """The environment as an executor uses it."""
        return Environment(python=str(venv_python(self.folder)), lock=self.lock)


def folder_name(name: str, lock_digest: str) -> str:
    """Return the name of an environment's folder."""
    return f"{name}-{lock_digest[:SHORT]}"


def venv_python(folder: Path) -> Path:
    """Return the interpreter of the environment in a folder."""
    return folder / VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


POLL = 0.1
"""Seconds between attempts."""


@asynccontextmanager
async def hold_file(path: Path, on_wait: Callable[[], object]) -> AsyncIterator[None]:
    """Hold the lock of a file; the system frees it if this process dies.

    Args:
        on_wait: called once if another process or task holds it.
    """
    # Attempts do not block; in a thread one could succeed after the task is cancelled, and hold the lock for ever.
    lock = AsyncFileLock(path, poll_interval=POLL, run_in_executor=False)
    try:
        await lock.acquire(timeout=0)
    except Timeout:
        on_wait()
        await lock.acquire()
    try:
        yield
    finally:
        await lock.release()


UNFINISHED = ".unfinished"


@dataclass(frozen=True)
class BuildRequest:
    """A framework that needs an environment.

    Attributes:
        adapter: the requirement that installs its adapter; empty for the adapter of Trialbed's own origin.
        lock: exact requirements to install instead of resolving; empty to resolve.
        refresh: resolve again, to newer releases, even if there is an environment.
    """

    framework: FrameworkSpec
    adapter: str = ""
    lock: tuple[str, ...] = ()
    refresh: bool = False

    @cached_property
    def requirements(self) -> tuple[str, ...]:
        """The requirements of the environment, as lines of a requirements file."""
        return (own_requirement(), self.adapter or adapter_requirement(self.framework.name), *self.framework.pins)

    @cached_property
    def key(self) -> str:
        """Differs between requests that must not share an environment (other framework, interpreter or Trialbed)."""
        return _digest([self.framework.name, self.framework.release or "", python_id(), own_requirement()])

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the requirements and the contents of local ones, when the request needs a new environment."""
        return _digest([*map(without_credentials, self.requirements), *local_states(self.requirements)])


class CachedResolution(Record):
    """The environment that a request was given.

    Attributes:
        label: the framework as asked for.
        fingerprint: of the request; a request with another fingerprint needs another environment.
        adapter: the requirement that was given for its adapter; empty if none was.
        environment: the folder's name.
    """

    label: str
    fingerprint: str
    adapter: str
    environment: str


class EnvironmentStore:
    """The environments in a folder; creating this object writes nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    def __iter__(self) -> Iterator[InstalledEnvironment]:
        """Yield every complete environment, by name."""
        folders = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        found = (InstalledEnvironment.read(folder) for folder in folders if not folder.name.startswith("."))
        return (installed for installed in found if installed is not None)

    def find(self, request: BuildRequest) -> InstalledEnvironment | None:
        """Return the environment that a request was given and that still serves it; needs neither a network nor uv."""
        cached = self.resolution(request)
        if cached is None or self.with_last_adapter(request).fingerprint != cached.fingerprint:
            return None
        return InstalledEnvironment.read(self.folder / cached.environment)

    def with_last_adapter(self, request: BuildRequest) -> BuildRequest:
        """Return the request, with the adapter of the last build if it names none."""
        cached = self.resolution(request)
        return request if cached is None else replace(request, adapter=request.adapter or cached.adapter)

    def resolution(self, request: BuildRequest) -> CachedResolution | None:
        """Return the environment that the request was given last."""
        return _read(self._resolution_path(request.key))

    def resolutions(self) -> Iterator[CachedResolution]:
        """Return the environment that each request was given last."""
        found = map(_read, sorted(self.folder.glob(".answers/*.json")))
        return (cached for cached in found if cached is not None)

    def save_resolution(self, request: BuildRequest, installed: InstalledEnvironment) -> None:
        """Remember which environment a request was given."""
        cached = CachedResolution(
            label=request.framework.text,
            fingerprint=request.fingerprint,
            adapter=without_credentials(request.adapter),
            environment=installed.name,
        )
        path = self._resolution_path(request.key)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, cached.model_dump_json(indent=2).encode())

    def remove(self, installed: InstalledEnvironment) -> None:
        """Delete an environment, the remains of killed builds, and the notes of requests that were given it.

        Raises:
            UsageError: environments are being built, or its folder cannot be written.
        """
        try:
            with FileLock(self.lock_path, timeout=0):
                for path in self.folder.glob(".answers/*.json"):
                    cached = _read(path)
                    if cached is not None and cached.environment == installed.name:
                        path.unlink()
                # Out of its place in one step.
                installed.folder.rename(self.new_build_folder(installed.name) / installed.name)
                shutil.rmtree(self.folder / UNFINISHED, ignore_errors=True)
        except Timeout as error:
            raise UsageError(f"{self.folder}: another process builds environments; wait until it ends") from error
        except OSError as error:
            raise UsageError(f"{installed.name} cannot be removed: {error.filename}: {error.strerror}") from error

    @property
    def lock_path(self) -> Path:
        """The file that a process locks while it builds or removes environments."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / ".lock"

    @asynccontextmanager
    async def building(self, on_wait: Callable[[], object]) -> AsyncIterator[None]:
        """Let no other process build or remove environments, and delete the remains of killed builds.

        Args:
            on_wait: called once if another process does so.
        """
        async with hold_file(self.lock_path, on_wait):
            await asyncio.to_thread(shutil.rmtree, self.folder / UNFINISHED, ignore_errors=True)
            yield

    def new_build_folder(self, name: str) -> Path:
        """A new folder to build an environment in."""
        folder = self.folder / UNFINISHED / f"{name}.{secrets.token_hex(4)}"
        folder.mkdir(parents=True)
        return folder

    def add(self, build_folder: Path, name: str) -> InstalledEnvironment:
        """Move a complete environment to its place; the caller holds the lock."""
        place = self.folder / name
        if InstalledEnvironment.read(place) is None:
            shutil.rmtree(place, ignore_errors=True)
            build_folder.rename(place)
        added = InstalledEnvironment.read(place)
        if added is None:
            raise EnvironmentFailed(f"{place} was deleted while it was built; try again")
        return added

    def _resolution_path(self, key: str) -> Path:
        return self.folder / ".answers" / f"{key}.json"


def _read(path: Path) -> CachedResolution | None:
    try:
        return CachedResolution.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
