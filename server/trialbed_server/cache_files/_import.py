"""Imports cache folders into the response cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from trialbed.errors import DataError, UsageError
from trialbed.files import read_bytes
from trialbed_server.cache import Entry, ResponseStore
from trialbed_server.cache_files._layout import LAYOUTS, cache_files, misplaced_files, name_of
from trialbed_server.cache_files._reading import ImportProblem, alias, read_entries

BATCH = 2000
"""Entries in one transaction; files are never split."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class ImportReport:
    """The outcome of an import.

    Attributes:
        files: files of the folder.
        new: entries that are in the cache now and were not before.
        known: entries that were there already, or twice in the folder.
    """

    files: int
    new: int
    known: int
    problems: tuple[ImportProblem, ...]


def import_cache(folder: Path, location: str, progress: Progress | None = None) -> ImportReport:
    """Import every readable entry of a cache folder, and report the unreadable ones.

    An entry is found again by the spelling of its parameters in the folder and by the standardised one. Files whose
    content was imported before are not read again, so that an import that was interrupted goes on where it was.

    Args:
        folder: laid out as ``{category}/{tool}_for_{category}/{api}.json``, or as
            ``{category}/{tool_name}/{api_name}.json``.
        location: the response cache, a file or a database URL.
        progress: called after each batch with the number of files done and of all.

    Raises:
        UsageError: the folder does not exist.
        DataError: there is no file of these layouts in it, or the response cache cannot be used.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; give StableToolBench's tool_response_cache")
    files = sorted(cache_files(folder))
    if not files:
        raise DataError(f"{folder} holds no cache files; they are expected at {LAYOUTS}")
    store = ResponseStore(location)
    try:
        batches = _Import(store)
        for file in sorted(misplaced_files(folder)):
            batches.problems.append(ImportProblem(file, None, f"it is not a file at {LAYOUTS}"))
        for done, file in enumerate(files, 1):
            if batches.take(file) and progress is not None:
                progress(done, len(files))
        batches.keep()
        if progress is not None:
            progress(len(files), len(files))
        return ImportReport(len(files), batches.new, batches.known, tuple(batches.problems))
    finally:
        store.close()


@dataclass
class _Import:
    """Entries on their way into a store."""

    store: ResponseStore
    new: int = 0
    known: int = 0
    problems: list[ImportProblem] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)

    def take(self, file: Path) -> bool:
        """Read a file; whether a batch was kept."""
        try:
            name, content = name_of(file), read_bytes(file)
        except (OSError, DataError) as error:
            self.problems.append(ImportProblem(file, None, str(error)))
            return False
        digest = hashlib.sha256(repr(name).encode("utf-8", "replace") + content).hexdigest()
        before = self.store.imported(digest)
        if before is not None:
            self.known += before
            return False
        problems = len(self.problems)
        number = sum(1 for found in read_entries(file, name, content) if self._add(found))
        if len(self.problems) == problems:
            # A file with problems is read again, so that they are reported again.
            self.files[digest] = number
        if len(self.entries) < BATCH:
            return False
        self.keep()
        return True

    def keep(self) -> None:
        """Put the entries into the store, in one transaction."""
        entries = list(self.entries.values())
        added = self.store.import_entries(entries, list(_aliases(entries)), self.files)
        self.new += added
        self.known += len(entries) - added
        self.entries, self.files = {}, {}

    def _add(self, found: Entry | ImportProblem) -> bool:
        if isinstance(found, ImportProblem):
            self.problems.append(found)
            return False
        if self.entries.setdefault(found.key, found) is not found:
            self.known += 1
        return True


def _aliases(entries: list[Entry]) -> Iterator[Entry]:
    return (found for entry in entries if (found := alias(entry)) is not None)
