"""The folder of measured releases: a record and a lock for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from packaging.version import InvalidVersion, Version

from trialbed.errors import DataError
from trialbed.files import read_bytes, replace_file
from trialbed.records import Json, Record
from trialbed_adapter_lab.fidelity import FrameworkFidelity
from trialbed_adapter_lab.releases.index import KnownReleases, Wanted

INDEX = "index.json"
"""Has the index's last list of releases."""

WATCH = "watch.json"
"""Has the release up to which a watch has shown them."""

Kept = TypeVar("Kept", bound=Record)


class WatchState(Record):
    """The place that a watch has reached.

    Attributes:
        release: the newest that a finished watch has shown. Those after it, measured or not, are still to be shown.
    """

    release: str


class Figure(Record):
    """The median of ``n`` observations, with the lowest and the highest."""

    median: float
    low: float
    high: float
    n: int


class SentRequests(Record):
    """The requests of one trial as they went over the wire, and the processor time that it took.

    Attributes:
        framework: the label, with its profile and release.
        bodies: of the requests, in order; the ids of calls are numbered, since they differ from trial to trial.
        cpu_ms: processor milliseconds of the worker, over trials after its first one. None where it did not say.
        reason: why there is none; empty if there is.
    """

    framework: str
    bodies: tuple[Json, ...] = ()
    cpu_ms: Figure | None = None
    reason: str = ""


class MeasuredRelease(Record):
    """A release as it was measured, or the reason why it could not be.

    Attributes:
        framework: its name. ``release``: its version. ``published``: when the index got its first file, if it says so.
        kit: the digest of the kit that measured it.
        trialbed: the version of Trialbed. ``python`` and ``system``: that it ran on.
        packages: ``name==version`` of everything in its environment, sorted. ``size``: bytes of them.
        lock_digest: of the lock that is kept beside this record.
        figures: those of ``bench fidelity``, for each profile.
        requests: of one trial, for each profile.
        failure: why nothing was measured; empty if it was.
    """

    framework: str
    release: str
    published: datetime | None = None
    kit: str
    measured_at: datetime
    trialbed: str
    python: str
    system: str
    packages: tuple[str, ...] = ()
    size: int = 0
    lock_digest: str = ""
    figures: tuple[FrameworkFidelity, ...] = ()
    requests: tuple[SentRequests, ...] = ()
    failure: str = ""


class ReleaseFolder:
    """The releases of one framework that were measured; creating this object writes nothing."""

    def __init__(self, folder: Path, framework: str) -> None:
        self.framework = framework
        self.folder = folder / framework

    def __iter__(self) -> Iterator[MeasuredRelease]:
        """Every record, the oldest release first."""
        versions = {version: path for path in self.folder.glob("*.json") if (version := _version(path)) is not None}
        return iter([_read(MeasuredRelease, versions[version]) for version in sorted(versions)])

    def only_newer(self, wanted: Wanted) -> Wanted:
        """Return the wish for the newest release that a watch has shown and all newer ones.

        Where none has, it is the newest that was measured; where none was, the newest of all alone is wished for.
        """
        path = self.folder / WATCH
        since = _read(WatchState, path).release if path.exists() else ""
        if not (since and self.find(since, None)):
            since = next((one.release for one in reversed(list(self)) if not one.failure), "")
        return replace(wanted, first=since, newer=True) if since else replace(wanted, most=1)

    def keep_watched(self, release: str) -> None:
        """Write down that a watch has shown the releases up to this one."""
        replace_file(self.folder / WATCH, WatchState(release=release).model_dump_json().encode())

    def index(self) -> KnownReleases | None:
        """Return the index's last list of releases; None if it was never asked."""
        path = self.folder / INDEX
        return _read(KnownReleases, path) if path.exists() else None

    def keep_known(self, known: KnownReleases) -> None:
        """Write the index's list of releases."""
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_file(self.folder / INDEX, known.model_dump_json().encode())

    def find(self, release: str, kit: str | None) -> MeasuredRelease | None:
        """Return the record of a release by this kit, by any if that is None; failures do not count.

        Raises:
            DataError: the record cannot be read.
        """
        path = self.folder / f"{release}.json"
        found = _read(MeasuredRelease, path) if path.exists() else None
        return found if found and not found.failure and kit in (None, found.kit) else None

    def keep(self, measured: MeasuredRelease, lock: str) -> None:
        """Write a record and its lock; of a release that was measured before, a failure replaces nothing."""
        if measured.failure and self.find(measured.release, None) is not None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        if lock:
            replace_file(self.folder / f"{measured.release}.lock", lock.encode())
        replace_file(self.folder / f"{measured.release}.json", measured.model_dump_json().encode())


def _read(kind: type[Kept], path: Path) -> Kept:
    try:
        return kind.model_validate_json(read_bytes(path))
    except (ValueError, OSError) as error:
        raise DataError(
            f"{path}: not what `bench releases` keeps; delete it to have it made anew: {str(error).splitlines()[0]}"
        ) from error


def _version(path: Path) -> Version | None:
    try:
        return Version(path.stem)
    except InvalidVersion:
        return None
