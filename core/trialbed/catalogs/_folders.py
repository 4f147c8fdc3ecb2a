"""Folders of documents about tools, as catalogs."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from trialbed.catalogs._stored import StoredApis
from trialbed.errors import DataError
from trialbed.files import write_folder
from trialbed.records import Api

log = logging.getLogger("trialbed.catalogs")

VERSION = 1
"""The version of the form of stored catalogs and of the reading of documents: with another, they are made anew."""

NAMED = 3
"""Documents that are left out and named in a warning."""


def open_documents(documents: Sequence[Path], read: Callable[[Path], Sequence[Api]], folder: Path) -> StoredApis:
    """The Apis of documents: those that are stored, where no document has changed since, else read anew and stored.

    A document that cannot be read is left out, with a warning.

    Args:
        read: the Apis of a document.
        folder: where catalogs are stored, in a folder for each state of the documents.

    Raises:
        DataError: no document can be read, or the folder cannot be written.
    """
    place = folder / _state(documents)
    found = _open(place)
    if found is None:
        skipped: list[str] = []
        apis = list(_read(documents, read, skipped))
        if not apis:
            raise DataError(f"none of {len(documents):,} documents has an Api: {'; '.join(skipped[:1])}")
        try:
            write_folder(place, lambda made: StoredApis.store(apis, skipped, made))
            found = StoredApis(place)
        except OSError as error:
            raise DataError(f"{place}: the catalog cannot be stored there: {error.strerror or error}") from error
    if found.skipped:
        more = f"; and {len(found.skipped) - NAMED:,} more" if len(found.skipped) > NAMED else ""
        log.warning("documents left out of the catalog: %s%s", "; ".join(found.skipped[:NAMED]), more)
    return found


def _open(place: Path) -> StoredApis | None:
    if not place.is_dir():
        return None
    try:
        return StoredApis(place)
    except (OSError, ValueError, LookupError, TypeError) as error:
        log.warning("%s: the stored catalog cannot be read and is made anew: %s", place, error)
        shutil.rmtree(place, ignore_errors=True)
        return None


def _read(documents: Sequence[Path], read: Callable[[Path], Sequence[Api]], skipped: list[str]) -> Iterator[Api]:
    for path in documents:
        try:
            yield from read(path)
        except DataError as error:
            skipped.append(str(error))


def _state(documents: Sequence[Path]) -> str:
    """Digest the documents' paths, sizes and times, which change when a document does."""
    digest = hashlib.sha256(str(VERSION).encode())
    for path in documents:
        about = path.stat()
        digest.update(json.dumps([str(path), about.st_size, about.st_mtime_ns]).encode())
    return digest.hexdigest()[:32]
