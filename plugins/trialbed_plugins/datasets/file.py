"""Datasets that are single files of queries: ``--dataset FILE.json``."""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from trialbed.catalogs import StoredQueries
from trialbed.contracts import Dataset, DatasetDriver
from trialbed.errors import DataError, UsageError
from trialbed.files import make_private_file, make_private_folder
from trialbed.records import Api, Query
from trialbed.settings import index_dir
from trialbed_plugins.datasets._queries import ListedDataset, QueryFile, dataset_name

log = logging.getLogger("trialbed.datasets")

LARGE = 4 * 2**20
"""Bytes from which on the queries of a file are kept in a database, and not in memory."""

FOLDER = "queries"
"""The folder of these databases, beside the indexes of catalogs."""

VERSION = 3
"""The version of the tables, and of the reading of files: with another, a database is made again."""

KEPT = 5
"""Databases that are kept, those used last."""

PATIENCE = 600.0
"""Seconds to wait for another process that reads the same file into the database."""

TABLES = """
CREATE TABLE dataset (name TEXT, digest TEXT, ids TEXT, expecting TEXT, apis TEXT);
CREATE TABLE queries (place INTEGER PRIMARY KEY, body TEXT);
"""


class StoredDataset(Dataset):
    """A dataset whose queries are in a database, each read when it is looked at.

    Raises:
        sqlite3.Error: the database is damaged.
    """

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self._digest: str
        self._path = path
        self._database = database
        about = database.execute("SELECT name, digest, ids, expecting FROM dataset").fetchone()
        name, self._digest, ids, expecting = about
        self.name = self.test_set = dataset_name(path, name)
        self._queries = StoredQueries(self._read, json.loads(ids), json.loads(expecting))

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
        (apis,) = self._database.execute("SELECT apis FROM dataset").fetchone()
        return tuple(map(Api.model_validate_json, json.loads(apis)))

    def _read(self, place: int) -> Query:
        try:
            ((body,),) = self._database.execute("SELECT body FROM queries WHERE place = ?", (place,))
        except (sqlite3.Error, ValueError) as error:
            raise DataError(f"{self._path}: its stored queries cannot be read: {error}") from error
        return Query.model_validate_json(body)


def open_file(path: Path | str) -> Dataset:
    """The dataset in a file of JSON, JSON Lines or YAML: queries in Trialbed's form or in StableToolBench's.

    The own form is ``{"name": …, "queries": [Query…]}``. A list, or lines, are named for their file. The queries of a
    large file are read into a database once, for each content, and each is read from there when it is looked at.

    Raises:
        UsageError: there is no such file.
        DataError: the file is malformed; names file, line (where it is not JSON) and key.
    """
    path = Path(path)
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file; a dataset is given by name or by the path of a JSON file")
    if path.stat().st_size >= LARGE:
        return _open_large(path, index_dir() / FOLDER)
    file = QueryFile(path)
    queries = tuple(file)
    name = dataset_name(path, file.name)
    return ListedDataset(name, name, queries)


def _open_large(path: Path, folder: Path) -> StoredDataset:
    content = _content(path)
    place = folder / f"{content}-{VERSION}.db"
    try:
        make_private_folder(folder)
        make_private_file(place)
        dataset = _read_into(path, str(place), content)
        place.touch()
        by_use = sorted(folder.glob("*.db"), key=lambda file: file.stat().st_mtime)
        for old in by_use[:-KEPT]:
            old.unlink()
    except (OSError, sqlite3.Error) as error:  # it is made again next time
        log.debug("%s: the queries cannot be kept: %s", place, error)
        with suppress(OSError):
            place.unlink()
        try:
            return _read_into(path, "", content)
        except sqlite3.Error as fault:
            raise DataError(f"{path}: its queries cannot be kept in a temporary file: {fault}") from fault
    return dataset


def _content(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_into(path: Path, place: str, content: str) -> StoredDataset:
    """Open a database, into which the queries of a file are read if it has none; empty for one without a name."""
    database = sqlite3.connect(place, PATIENCE, isolation_level=None, check_same_thread=False)
    if not _is_filled(database):
        with database:
            database.execute("BEGIN IMMEDIATE")
            if not _is_filled(database):
                _fill(path, database)
                if _content(path) != content:
                    raise DataError(f"{path}: has changed while it was read; start the command again")
    return StoredDataset(path, database)


def _is_filled(database: sqlite3.Connection) -> bool:
    return bool(database.execute("PRAGMA user_version").fetchone()[0])


def _fill(path: Path, database: sqlite3.Connection) -> None:
    for statement in TABLES.strip().splitlines():
        database.execute(statement)
    digest = hashlib.sha256()
    ids: list[int | str] = []
    expecting: list[int] = []
    apis: dict[tuple[str, str, str], str] = {}
    file = QueryFile(path)
    for place, query in enumerate(file):
        body = query.identity_json()
        digest.update(f"{body}\n".encode())
        database.execute("INSERT INTO queries VALUES (?, ?)", (place, body))
        ids.append(query.query_id)
        if query.expected is not None:
            expecting.append(place)
        for api in query.apis:
            if (identity := (api.category, api.tool_name, api.api_name)) not in apis:
                apis[identity] = api.model_dump_json()
    about = (file.name, digest.hexdigest(), *map(json.dumps, (ids, expecting, [*apis.values()])))
    database.execute("INSERT INTO dataset VALUES (?, ?, ?, ?, ?)", about)
    database.execute("PRAGMA user_version = 1")


class FileDriver(DatasetDriver):
    """Any file of queries; the test set is its path."""

    description: ClassVar[str] = (
        "queries in a JSON, JSON Lines or YAML file, in StableToolBench's form or Trialbed's own"
    )

    def test_sets(self, data_dir: Path) -> Sequence[str]:  # noqa: ARG002 - files may be anywhere
        """Empty, since files cannot be listed."""
        return []

    def open(self, test_set: str | None, data_dir: Path) -> Dataset:  # noqa: ARG002 - files may be anywhere
        """The dataset in the file at the path ``test_set``.

        Raises:
            UsageError: no path was given, or there is no such file.
            DataError: the file is malformed.
        """
        if test_set is None:
            raise UsageError("the dataset 'file' needs the path of a JSON file: `bench run --dataset FILE.json`")
        return open_file(test_set)
