"""The folder of measured releases: a record and a lock for each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from packaging.version import InvalidVersion, Version
from pydantic import ValidationError

from trialbed.files import read_bytes, replace_file
from trialbed.records import Record
from trialbed_adapter_lab.fidelity.report import MeasuredAdapter
from trialbed_adapter_lab.releases.index import KnownReleases, Wanted

INDEX, WATCH = "index.json", "watch.json"

Kept = TypeVar("Kept", bound=Record)


class WatchState(Record):
    """The place that a watch has reached.

    Attributes:
        release: the newest that a finished watch has shown. Those after it, measured or not, are still to be shown.
    """

    release: str = ""


class ReleaseConditions(Record):
    """A release, and the conditions under which it was measured.

    Attributes:
        published: when the index got its first file, if it says so.
        kit: the digest of the kit that measured it.
        trialbed: the version of Trialbed. ``python`` and ``system``: that it ran on.
        lock_digest: of the lock that is kept beside its record.
        size: bytes of its environment.
        failure: why nothing was measured; empty if it was.
    """

    release: str
    published: datetime | None = None
    measured_at: datetime
    kit: str
    trialbed: str
    python: str
    system: str
    lock_digest: str = ""
    size: int = 0
    failure: str = ""


class MeasuredRelease(ReleaseConditions):
    """A release as it was measured.

    Attributes:
        packages: ``name==version`` of everything in its environment, sorted.
        figures: the kit's report on each profile, or the reason why there is none.
    """

    framework: str
    packages: tuple[str, ...] = ()
    figures: tuple[MeasuredAdapter, ...] = ()


class ReleaseFolder:
    """The releases of one framework that were measured; creating this object writes nothing.

    A file that cannot be read, such as one of an earlier Trialbed, counts as absent.
    """

    def __init__(self, folder: Path, framework: str) -> None:
        self.framework = framework
        self.folder = folder / framework

    def __iter__(self) -> Iterator[MeasuredRelease]:
        """Every record, the oldest release first."""
        versions = {}
        for path in self.folder.glob("*.json"):
            with suppress(InvalidVersion):
                versions[Version(path.stem)] = path
        records = (_read(MeasuredRelease, path) for _, path in sorted(versions.items()))
        return (record for record in records if record is not None)

    def only_newer(self, wanted: Wanted) -> Wanted:
        """Return the wish for the newest release that a watch has shown and all newer ones.

        Without one it is the newest that was measured; in an empty folder, the newest of all alone is wished for.
        """
        watch = _read(WatchState, self.folder / WATCH) or WatchState()
        measured = [one.release for one in self if not one.failure]
        since = watch.release if watch.release in measured else next(reversed(measured), "")
        return replace(wanted, first=since, newer=True) if since else replace(wanted, most=1)

    def keep_watched(self, release: str) -> None:
        """Write down that a watch has shown the releases up to this one."""
        self._write(WATCH, WatchState(release=release).model_dump_json())

    def index(self) -> KnownReleases:
        """Return the index's last list of releases; empty if it was never asked."""
        return _read(KnownReleases, self.folder / INDEX) or KnownReleases()

    def keep_known(self, known: KnownReleases) -> None:
        """Write the index's list of releases."""
        self._write(INDEX, known.model_dump_json())

    def find(self, release: str, kit: str | None) -> MeasuredRelease | None:
        """Return the record of a release by this kit, by any if that is None; failures do not count."""
        found = _read(MeasuredRelease, self.folder / f"{release}.json")
        return found if found and not found.failure and kit in (None, found.kit) else None

    def keep(self, measured: MeasuredRelease, lock: str) -> None:
        """Write a record and its lock; of a release that was measured before, a failure replaces nothing."""
        if measured.failure and self.find(measured.release, None) is not None:
            return
        if lock:
            self._write(f"{measured.release}.lock", lock)
        self._write(f"{measured.release}.json", measured.model_dump_json(exclude_defaults=True))

    def _write(self, name: str, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_file(self.folder / name, text.encode())


def _read(kind: type[Kept], path: Path) -> Kept | None:
    try:
        return kind.model_validate_json(read_bytes(path))
    except (FileNotFoundError, ValidationError):
        return None
