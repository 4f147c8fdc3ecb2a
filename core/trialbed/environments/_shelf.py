"""The folder of environments: what is there, what answers which request, what goes.

::

    <folder>/crewai-3fa9c0de12ab/   a complete environment: venv/, lock.txt, environment.json
    <folder>/.answers/<key>.json    which environment answers a request
    <folder>/.locks/                one lock file per request and environment
    <folder>/.unfinished/           builds that go on, or were killed

An environment is built under ``.unfinished`` and moved to its place when it is complete, so that whatever stands
there can be used, and is never changed.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from trialbed.environments._built import Built
from trialbed.environments._lock import requirements
from trialbed.environments._request import Request
from trialbed.environments._secrecy import without_credentials
from trialbed.files import replace_file
from trialbed.records import Record

UNFINISHED = ".unfinished"


class Answer(Record):
    """Which environment a request got.

    Attributes:
        label: the framework as asked for.
        fingerprint: of the request; another one needs another answer.
        adapter: the requirement that was given for its adapter; empty if none was.
        locked: the environment was built from a given lock, not resolved.
        environment: the folder's name.
    """

    label: str
    fingerprint: str
    adapter: str
    locked: bool
    environment: str


class Shelf:
    """The environments in a folder; making one writes nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    def __iter__(self) -> Iterator[Built]:
        """Every complete environment, by name."""
        folders = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        found = (Built.read(folder) for folder in folders if not folder.name.startswith("."))
        return (built for built in found if built is not None)

    def find(self, request: Request) -> Built | None:
        """The environment that answers a request, if there is one; neither network nor uv are needed for it."""
        answer = self.answer(request)
        if answer is None or self.recalled(request).fingerprint != answer.fingerprint:
            return None
        return Built.read(self.folder / answer.environment)

    def recalled(self, request: Request) -> Request:
        """The request with the adapter and the lock that its last answer was given for, where it names none."""
        answer = self.answer(request)
        if answer is None:
            return request
        request = replace(request, adapter=request.adapter or answer.adapter)
        built = Built.read(self.folder / answer.environment)
        if answer.locked and built and not request.lock and not request.refresh:
            request = replace(request, lock=requirements(built.lock))
        return request

    def answer(self, request: Request) -> Answer | None:
        """What the request was answered with last."""
        try:
            return Answer.model_validate_json(self._answer_path(request.key).read_bytes())
        except (OSError, ValidationError):
            return None

    def answers(self) -> Iterator[Answer]:
        """Every answer that was given."""
        for path in sorted(self.folder.glob(".answers/*.json")):
            try:
                yield Answer.model_validate_json(path.read_bytes())
            except (OSError, ValidationError):
                continue

    def note(self, request: Request, built: Built) -> None:
        """Remember the answer to a request."""
        answer = Answer(
            label=request.label.text,
            fingerprint=request.fingerprint,
            adapter=without_credentials(request.adapter),
            locked=bool(request.lock),
            environment=built.folder.name,
        )
        path = self._answer_path(request.key)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, answer.model_dump_json(indent=2).encode())

    def forget(self, built: Built) -> None:
        """Forget every answer that named an environment."""
        for path in self.folder.glob(".answers/*.json"):
            try:
                answer = Answer.model_validate_json(path.read_bytes())
            except (OSError, ValidationError):
                continue
            if answer.environment == built.folder.name:
                path.unlink(missing_ok=True)

    def scratch(self, name: str) -> Path:
        """A new folder to build an environment in."""
        folder = self.folder / UNFINISHED / f"{name}.{secrets.token_hex(4)}"
        folder.mkdir(parents=True)
        return folder

    def place(self, scratch: Path, name: str) -> None:
        """Move a complete environment to its place; the caller holds its lock."""
        self.discard(self.folder / name)
        scratch.rename(self.folder / name)

    def discard(self, folder: Path) -> None:
        """Take an environment from its place, whole, and then delete it."""
        if folder.exists():
            away = self.scratch(folder.name)
            folder.rename(away / folder.name)
            shutil.rmtree(away, ignore_errors=True)

    def sweep(self) -> None:
        """Delete what killed builds left behind: what nobody holds the lock of."""
        for leftover in self.folder.glob(f"{UNFINISHED}/*"):
            lock = self.file_lock(leftover.name.rpartition(".")[0])
            try:
                with lock:
                    shutil.rmtree(leftover, ignore_errors=True)
            except Timeout:
                continue

    def file_lock(self, name: str) -> FileLock:
        """A lock between processes; the system frees it when its holder dies."""
        folder = self.folder / ".locks"
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / f"{name}.lock", timeout=0)

    def _answer_path(self, key: str) -> Path:
        return self.folder / ".answers" / f"{key}.json"
