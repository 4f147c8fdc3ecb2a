"""The folder of environments: which there are, which resolutions are known, and who may change one."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

from filelock import AsyncFileLock, FileLock, Timeout
from pydantic import ValidationError

from trialbed.environments._frameworks import OWN, FrameworkSpec, adapter_requirement, own_requirement
from trialbed.environments._installed import InstalledEnvironment, requirements
from trialbed.environments._requirements import local_states, python_id, without_credentials
from trialbed.errors import UsageError
from trialbed.files import replace_file
from trialbed.records import Record

POLL = 0.1
"""Seconds between attempts."""


@asynccontextmanager
async def hold_file(path: Path, on_wait: Callable[[], None]) -> AsyncIterator[None]:
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
        """Differs for requests that must not share an environment: other frameworks, interpreters, Trialbeds."""
        return _digest([self.framework.name, self.framework.release or "", python_id(), own_requirement()])

    @cached_property
    def fingerprint(self) -> str:
        """Changes when the request needs a new environment: with its requirements, and with local ones' contents."""
        return _digest([*map(without_credentials, self.requirements), *local_states(self.requirements)])


class CachedResolution(Record):
    """The environment that a request was given.

    Attributes:
        label: the framework as asked for.
        fingerprint: of the request; a request with another fingerprint needs another environment.
        adapter: the requirement that was given for its adapter; empty if none was.
        locked: the environment was built from a given lock, not resolved.
        environment: the folder's name.
        distributions: of the framework, as its adapter declares them; empty where it was not asked.
    """

    label: str
    fingerprint: str
    adapter: str
    locked: bool
    environment: str
    distributions: tuple[str, ...]


class EnvironmentStore:
    """The environments in a folder; creating this object writes nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    def __iter__(self) -> Iterator[InstalledEnvironment]:
        """Every complete environment, by name."""
        folders = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        found = (InstalledEnvironment.read(folder) for folder in folders if not folder.name.startswith("."))
        return (installed for installed in found if installed is not None)

    def find(self, request: BuildRequest) -> InstalledEnvironment | None:
        """The environment that a request was given and that still serves it; needs neither a network nor uv."""
        cached = self.resolution(request)
        if cached is None or self.with_last_choices(request).fingerprint != cached.fingerprint:
            return None
        return InstalledEnvironment.read(self.folder / cached.environment)

    def reason_to_rebuild(self, request: BuildRequest) -> str:
        """Return in words why the environment that a request was given last serves it no longer; empty if it does."""
        cached = self.resolution(request)
        installed = InstalledEnvironment.read(self.folder / cached.environment) if cached else None
        if installed is None or self.find(request) is not None:
            return ""
        own, adapter, *_ = self.with_last_choices(request).requirements
        about, known = installed.metadata, installed.lock.splitlines()
        names = {own: f"Trialbed {version(OWN)}", adapter: f"{about.adapter} {about.adapter_version}"}
        changed = [name for line, name in names.items() if any(state not in known for state in local_states([line]))]
        # The lock has the state of every local file and folder that it was made of.
        cause = f"another build of {' and '.join(changed)}" if changed else "other requirements"
        return f"its environment {installed.name} was made with {cause}"

    def serving(self) -> Iterator[tuple[str, InstalledEnvironment]]:
        """Each framework as it was asked for here, such as ``crewai==1.2``, with the environment that it gets now."""
        for cached in self.resolutions():
            request = BuildRequest(FrameworkSpec.parse(cached.label))
            found = self.find(request) if self.resolution(request) == cached else None
            if found is not None:
                yield cached.label, found

    def with_last_choices(self, request: BuildRequest) -> BuildRequest:
        """The request with the adapter and the lock that were given for it last, where it has none of its own."""
        cached = self.resolution(request)
        if cached is None:
            return request
        request = replace(request, adapter=request.adapter or cached.adapter)
        if cached.distributions and not request.framework.declared:
            request = replace(request, framework=replace(request.framework, declared=cached.distributions))
        installed = InstalledEnvironment.read(self.folder / cached.environment)
        if cached.locked and installed and not request.lock and not request.refresh:
            request = replace(request, lock=requirements(installed.lock))
        return request

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
            locked=bool(request.lock),
            environment=installed.name,
            distributions=request.framework.declared,
        )
        path = self._resolution_path(request.key)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, cached.model_dump_json(indent=2).encode())

    def remove(self, installed: InstalledEnvironment, *, force: bool = False) -> None:
        """Delete an environment, and forget which requests were given it.

        Args:
            force: even if a process runs from it.

        Raises:
            UsageError: it is in use or being built, or its folder cannot be written.
        """
        running = installed.processes()
        if running and not force:
            pids = ", ".join(str(process.pid) for process in running)
            raise UsageError(f"{installed.name} is in use by process {pids}; wait until it ends, or give --force")
        try:
            with self._mutex(installed.name):
                self._forget(installed)
                self._delete(installed.folder)
        except Timeout as error:
            raise UsageError(f"{installed.name} is being built by another process; wait until that ends") from error
        except OSError as error:
            raise UsageError(f"{installed.name} cannot be removed: {error.filename}: {error.strerror}") from error

    def remove_leftovers(self) -> None:
        """Delete the remains of killed builds: those whose mutex is free."""
        for leftover in self.folder.glob(f"{UNFINISHED}/*"):
            try:
                with self._mutex(leftover.name.rpartition(".")[0]):
                    shutil.rmtree(leftover, ignore_errors=True)
            except Timeout:
                continue

    def new_build_folder(self, name: str) -> Path:
        """A new folder to build an environment in."""
        folder = self.folder / UNFINISHED / f"{name}.{secrets.token_hex(4)}"
        folder.mkdir(parents=True)
        return folder

    def add(self, build_folder: Path, name: str) -> None:
        """Move a complete environment to its place; the caller holds its mutex."""
        self._delete(self.folder / name)
        build_folder.rename(self.folder / name)

    def mutex_path(self, name: str) -> Path:
        """The file that processes lock which work on a request or an environment."""
        folder = self.folder / ".locks"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{name}.lock"

    def _mutex(self, name: str) -> FileLock:
        return FileLock(self.mutex_path(name), timeout=0)

    def _delete(self, folder: Path) -> None:
        """Move an environment out of its place in one step, and then delete it."""
        if folder.exists():
            away = self.new_build_folder(folder.name)
            folder.rename(away / folder.name)
            shutil.rmtree(away, ignore_errors=True)

    def _forget(self, installed: InstalledEnvironment) -> None:
        for path in self.folder.glob(".answers/*.json"):
            cached = _read(path)
            if cached is not None and cached.environment == installed.name:
                path.unlink(missing_ok=True)

    def _resolution_path(self, key: str) -> Path:
        return self.folder / ".answers" / f"{key}.json"


def _read(path: Path) -> CachedResolution | None:
    try:
        return CachedResolution.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
