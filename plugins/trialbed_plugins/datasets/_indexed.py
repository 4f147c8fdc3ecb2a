"""Large files of queries: an index says where each query lies, so that it is read when it is due."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import weakref
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter

from trialbed.catalogs import StoredQueries
from trialbed.contracts import Dataset
from trialbed.errors import DataError, DatasetChanged
from trialbed.files import make_private_folder, replace_file
from trialbed.records import Api, ApiRef, Query
from trialbed_plugins.datasets._listed import check_name, check_query, is_name, unique_apis
from trialbed_plugins.datasets._reading import validate_part
from trialbed_plugins.datasets._scanning import FoundQuery, each_query, is_list, name_faults
from trialbed_plugins.datasets.stabletoolbench import parse_query

log = logging.getLogger("trialbed.datasets")

QUERY = TypeAdapter(Query)

VERSION = 2
"""The version of the form of an index, and of the reading of files: with another, it is made anew."""

QueryId = int | str


class _KeptFile:
    """A file that stays open, so that it is read as it was although another takes its place, or it is deleted."""

    def __init__(self, file: BufferedReader) -> None:
        self.descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self.descriptor)


_kept = weakref.WeakValueDictionary[tuple[int, int], _KeptFile]()
"""Those that are open: the datasets of many runs may be one file, and descriptors are few."""


def _keep(file: BufferedReader) -> _KeptFile:
    about = os.fstat(file.fileno())
    return _kept.setdefault((about.st_dev, about.st_ino), _KeptFile(file))


def _digest(text: bytes) -> int:
    """A digest of a query, which another text does not have; short, as there is one of each."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())


class IndexedDataset(Dataset):
    """A dataset whose queries stay in their file.

    Args:
        path: its name in messages.
        file: the file, open.
        index: what ``index_file`` found in it.

    Raises:
        LookupError, TypeError, ValueError: the index is damaged.
        DataError: a list, which is named for its file, cannot be.
    """

    def __init__(self, path: Path, file: BufferedReader, index: dict[str, Any]) -> None:
        name = index["name"]
        self.name = self.test_set = check_name(path) if name is None else str(name)
        self._path = path
        self._parse = _parser(path, is_list=name is None)
        self._file = _keep(file)
        self._digest = str(index["digest"])
        self._starts, self._ends = array("Q", index["starts"]), array("Q", index["ends"])
        self._digests = array("Q", index["digests"])
        self._ids = tuple(index["ids"])
        self._first: Sequence[int] = index["first"]
        self._queries = StoredQueries(self._read, self._ids, index["expecting"])
        if not len(self._ids) == len(self._starts) == len(self._ends) == len(self._digests):
            raise ValueError("its columns are not equally long")

    def queries(self) -> Sequence[Query]:
        """All queries, in the file's order, each read when it is looked at."""
        return self._queries

    def apis(self) -> Sequence[Api]:
        """The Apis on offer in any query, as their first query describes them."""
        return self._apis

    def digest(self) -> str:
        """As that of any dataset; the queries are not read for it."""
        return self._digest

    @cached_property
    def _apis(self) -> tuple[Api, ...]:
        return unique_apis(api for query in self._queries.at(self._first) for api in query.apis)

    def _read(self, place: int) -> Query:
        start, end = self._starts[place], self._ends[place]
        try:
            text = os.pread(self._file.descriptor, end - start, start)
        except OSError as error:
            raise DataError(f"{self._path}: cannot be read: {error.strerror or error}") from error
        if _digest(text) != self._digests[place]:
            raise DatasetChanged(f"{self._path}: has changed since it was opened; start the command again")
        return self._parse(text, place)


def _parser(path: Path, *, is_list: bool) -> Callable[[bytes, int], Query]:
    """Return a function that makes a query of its bytes and its place in the file."""
    if is_list:
        return partial(parse_query, path)
    return lambda text, place: validate_part(path, QUERY, text, ("queries", place))


def open_indexed(path: Path, folder: Path) -> IndexedDataset | None:
    """The dataset in a file, by its index; None for a file that has another form.

    Args:
        folder: where indexes are kept, each under the digest of its file.

    Raises:
        OSError: the file cannot be read.
        DataError: a query has a fault, the file is not JSON, was changed meanwhile, or is a list whose name cannot be
            a dataset's.
    """
    with path.open("rb") as file:
        content = _content(file)
        place = folder / f"{content}-{VERSION}.json"
        with suppress(OSError, ValueError, LookupError, TypeError):
            return IndexedDataset(path, file, json.loads(place.read_bytes()))
        try:
            index = index_file(path, file)
        except (ValueError, RecursionError) as fault:
            log.debug("%s: is read as a whole: %s", path, fault)
            return None
        if _content(file) != content:
            raise DataError(f"{path}: has changed while it was read; start the command again")
        try:
            make_private_folder(folder)
            replace_file(place, json.dumps(index, separators=(",", ":")).encode())
        except OSError as error:  # it is made again next time
            log.debug("%s: the index cannot be kept: %s", place, error)
        return IndexedDataset(path, file, index)


def _content(file: BufferedReader) -> str:
    """The SHA-256 of an open file."""
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def index_file(path: Path, file: BufferedReader) -> dict[str, Any]:
    """Read a file once, a part at a time, and return where its queries are, with the digest of the dataset.

    Raises:
        DataError, ValueError, RecursionError: it has a fault, or another form.
    """
    scanned = _Scanned(path, file)
    digest = scanned.digest()
    name = None if scanned.is_list else scanned.name
    if name is not None and not is_name(name):
        raise ValueError("its name cannot be that of a dataset")
    return {"digest": digest, "name": name, **scanned.columns}


class _Scanned(Dataset):
    """The queries of a file, which are read once: what is noted of each is in ``columns`` then."""

    def __init__(self, path: Path, file: BufferedReader) -> None:
        self._path = path
        self._file = file
        self.is_list = is_list(file)
        self._parse = _parser(path, is_list=self.is_list)
        names = ("ids", "starts", "ends", "digests", "first", "expecting")
        self.columns: dict[str, list[Any]] = {name: [] for name in names}

    def queries(self) -> Sequence[Query]:
        """All queries, one after the other."""
        return cast("Sequence[Query]", self._each())  # a digest looks at each once

    def apis(self) -> Sequence[Api]:
        """None: nobody asks."""
        return ()

    def _parts(self) -> Iterator[FoundQuery]:
        self._file.seek(0)
        with name_faults(self._path, self._file):
            for found in each_query(self._file):
                if isinstance(found, FoundQuery):
                    yield found
                else:
                    self.name = self.test_set = found

    def _each(self) -> Iterator[Query]:
        ids: set[str] = set()
        seen: set[ApiRef] = set()
        for found in self._parts():
            place = len(self.columns["ids"])
            found.check_numbers(self._path, place)
            query = self._parse(found.text, place)
            check_query(self._path, query, ids)
            if query.expected is not None:
                self.columns["expecting"].append(place)
            refs = {api.ref for api in query.apis}
            if not refs <= seen:
                self.columns["first"].append(place)
                seen |= refs
            own = {"ids": query.query_id, "starts": found.start, "ends": found.end, "digests": _digest(found.text)}
            for name, value in own.items():
                self.columns[name].append(value)
            yield query
