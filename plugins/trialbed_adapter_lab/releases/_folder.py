"""The folder of measured releases: a record and a lock for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from packaging.version import InvalidVersion, Version

from trialbed.errors import DataError
from trialbed.files import read_bytes, replace_file
from trialbed.records import Record
from trialbed_adapter_lab.releases._choice import Wanted
from trialbed_adapter_lab.releases._records import KnownReleases, MeasuredRelease, WatchState

INDEX = "index.json"
"""Has the index's last list of releases."""

WATCH = "watch.json"
"""Has the release up to which a watch has shown them."""

Kept = TypeVar("Kept", bound=Record)


class ReleaseFolder:
    """The releases of one framework that were measured; creating this object writes nothing."""

    def __init__(self, folder: Path, framework: str) -> None:
        self.framework = framework
        self.folder = folder / framework

    def __iter__(self) -> Iterator[MeasuredRelease]:
        """Every record, the oldest release first."""
        paths = [path for path in self.folder.glob("*.json") if _version(path) is not None]
        return iter([self._read(path) for path in sorted(paths, key=lambda path: _version(path) or Version("0"))])

    def only_newer(self, wanted: Wanted) -> Wanted:
        """Return the wish for the newest release that a watch has shown and all newer ones.

        Where none has, it is the newest that was measured; where none was, the newest of all alone is wished for.
        """
        path = self.folder / WATCH
        shown = self._parse(WatchState, path).release if path.exists() else ""
        since = shown if shown and self.find(shown, None) else self._newest()
        return replace(wanted, first=since, newer=True) if since else replace(wanted, most=1)

    def keep_watched(self, release: str) -> None:
        """Write down that a watch has shown the releases up to this one."""
        replace_file(self.folder / WATCH, WatchState(release=release).model_dump_json().encode())

    def _newest(self) -> str:
        return next((one.release for one in reversed(list(self)) if not one.failure), "")

    def index(self) -> KnownReleases | None:
        """Return the index's last list of releases; None if it was never asked."""
        path = self.folder / INDEX
        return self._parse(KnownReleases, path) if path.exists() else None

    def keep_known(self, known: KnownReleases) -> None:
        """Write the index's list of releases."""
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_file(self.folder / INDEX, known.model_dump_json().encode())

    def find(self, release: str, kit: str | None) -> MeasuredRelease | None:
        """Return the record of a release by this kit, by any if that is None; failures do not count.

        Raises:
            DataError: the record cannot be read.
        """
        path = self._record(release)
        found = self._read(path) if path.exists() else None
        return found if found and not found.failure and kit in (None, found.kit) else None

    def keep(self, measured: MeasuredRelease, lock: str) -> None:
        """Write a record and its lock; of a release that was measured before, a failure replaces nothing."""
        if measured.failure and self.find(measured.release, None) is not None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        if lock:
            replace_file(self.lock_path(measured.release), lock.encode())
        replace_file(self._record(measured.release), measured.model_dump_json().encode())

    def lock_path(self, release: str) -> Path:
        """The lock of a release."""
        return self.folder / f"{release}.lock"

    def _record(self, release: str) -> Path:
        return self.folder / f"{release}.json"

    def _read(self, path: Path) -> MeasuredRelease:
        return self._parse(MeasuredRelease, path)

    def _parse(self, kind: type[Kept], path: Path) -> Kept:
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
