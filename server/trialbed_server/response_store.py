"""The response cache: its database, on SQLite or PostgreSQL, and its memory, whose hits need no thread."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, cast

from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    Index,
    Integer,
    MetaData,
    Row,
    Select,
    String,
    Table,
    Text,
    case,
    create_engine,
    event,
    make_url,
    select,
    text,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.schema import CreateIndex, CreateTable
from tenacity import Retrying, retry_if_exception_message, stop_after_delay, wait_random

from trialbed.errors import DataError, UsageError
from trialbed.files import make_private_file, make_private_folder
from trialbed_server.standard_names import StandardName

AUTHORITATIVE = ("real", "imported")
"""Origins of responses that are good for every trial, best first; others belong to one simulator."""


class Origin(NamedTuple):
    """The provenance of a response, and the revision of its maker (empty without one)."""

    provenance: str
    revision: str = ""


ANY = Origin("*")
"""Stands for every origin, and makes any entry good."""


@dataclass(frozen=True)
class Entry:
    """A response to keep.

    Attributes:
        key: of the triple and the input, see ``standard_names``.
        name: the standardised triple.
        input: canonical JSON of the input.
        body: JSON of the whole answer, ``{"error": …, "response": …}``.
        settings: JSON of the settings it was made with, such as the model's, or empty.
    """

    key: str
    name: StandardName
    input: str
    body: str
    origin: Origin
    settings: str = ""

    def values(self) -> dict[str, str]:
        """Return the values of its row."""
        return {
            "key": self.key,
            "provenance": self.origin.provenance,
            "revision": self.origin.revision,
            "api": json.dumps(self.name),
            "input": self.input,
            "body": self.body,
            "settings": self.settings,
        }


class StoredBody(NamedTuple):
    """The part of a kept response that an answer needs; the body is ASCII."""

    key: str
    origin: Origin
    body: bytes


def best(entries: Sequence[StoredBody], key: str, origin: Origin) -> StoredBody | None:
    """Return the best entry: authoritative ones first, then this origin's under the very key.

    An entry under another key is of an imported spelling, and must have been imported.
    """
    known = [entry for entry in entries if entry.origin.provenance in AUTHORITATIVE]
    if known:
        return min(known, key=lambda entry: (entry.key != key, AUTHORITATIVE.index(entry.origin.provenance)))
    return next((entry for entry in entries if entry.key == key and origin in (entry.origin, ANY)), None)


VERSION = 2
"""The version of this schema; a database of another version is not touched."""

metadata = MetaData()

schema_version = Table("trialbed_cache_schema", metadata, Column("version", Integer, primary_key=True))

responses = Table(
    "trialbed_responses",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("provenance", String(200), primary_key=True),
    Column("revision", String(64), primary_key=True),
    # The triple as JSON: names come from requests, and ASCII-escaped they fit every database.
    Column("api", Text, nullable=False),
    Column("input", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("settings", Text, nullable=False, server_default=""),
    Index("trialbed_responses_api", "api"),
)

_INSERT = """
    INSERT INTO trialbed_responses (key, provenance, revision, api, input, body, created_at, settings)
    VALUES (:key, :provenance, :revision, :api, :input, :body, CURRENT_TIMESTAMP, :settings)
    ON CONFLICT (key, provenance, revision) DO """
ADD = f"{_INSERT} NOTHING"
KEEP = f"{_INSERT} UPDATE SET body = trialbed_responses.body RETURNING body"
"""Keeps an entry; an update that changes nothing returns the row that is there."""

BUSY_TIMEOUT = 30.0
"""Seconds a writer waits for another process's transaction."""

SETUP_LOCK = 0x7472_6962
"""Names PostgreSQL's advisory lock for creating the tables once."""


class ResponseStore:
    """Entries on disk. Several processes may use one database; none overwrites another's entry.

    Args:
        location: a file, or a database URL (``postgresql+psycopg://…``).

    Raises:
        UsageError: the location is not a usable file or URL.
        DataError: the tables there are not a response cache of this version.
    """

    def __init__(self, location: str) -> None:
        url, self._shown = _read_location(location)
        self._is_file = url.get_backend_name() == "sqlite"
        try:
            self._engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT} if self._is_file else {})
        except (SQLAlchemyError, ImportError) as error:
            raise UsageError(f"--response-cache {self._shown}: {error}; install the database's driver") from error
        if self._is_file:
            event.listen(self._engine, "connect", _tune)
        try:
            self._prepare()
        except BaseException:
            self._engine.dispose()
            raise
        # A file is written without SQLAlchemy's part, which takes longer than the database's.
        self._file = self._engine.raw_connection() if self._is_file else None

    def find(self, keys: Sequence[str]) -> list[StoredBody]:
        """Return every entry under these keys."""
        rows = self._read(select(responses).where(responses.c.key.in_(keys)))
        return [StoredBody(row.key, Origin(row.provenance, row.revision), row.body.encode("ascii")) for row in rows]

    def add(self, entries: Sequence[Entry], aliases: Sequence[Entry] = ()) -> int:
        """Add the entries that are new by key and origin, in one transaction, and return how many were new.

        Args:
            aliases: kept as well, and not counted.
        """
        added = 0
        with self._describing_errors(), self._engine.begin() as connection:
            if entries:
                added = connection.execute(text(ADD), [entry.values() for entry in entries]).rowcount
            if aliases:
                connection.execute(text(ADD), [entry.values() for entry in aliases])
        return added

    def keep(self, entry: Entry) -> str:
        """Keep this entry and return the kept body, which is an older entry's if one has the same key and origin."""
        with self._describing_errors():
            if self._file is None:
                with self._engine.begin() as connection:
                    return str(connection.scalar(text(KEEP), entry.values()))
            with cast("sqlite3.Connection", self._file.driver_connection) as file:
                return str(file.execute(KEEP, entry.values()).fetchone()[0])

    def examples(self, name: StandardName, origin: Origin, limit: int) -> list[tuple[str, str]]:
        """Return inputs and answers of this Api, first real and imported ones, then this origin's."""
        known = responses.c.provenance.in_(AUTHORITATIVE)
        own = (responses.c.provenance == origin.provenance) & (responses.c.revision == origin.revision)
        query = select(responses).where(responses.c.api == json.dumps(name), known | own)
        order = (case((known, 0), else_=1), responses.c.input)
        return [(row.input, row.body) for row in self._read(query.order_by(*order).limit(limit))]

    def inputs(self, name: StandardName, limit: int = 1000) -> list[str]:
        """Return the distinct inputs, as canonical JSON, that have an entry for this Api; at most ``limit``."""
        query = select(responses.c.input).where(responses.c.api == json.dumps(name)).distinct()
        return [row.input for row in self._read(query.order_by(responses.c.input).limit(limit))]

    def open_file(self) -> sqlite3.Connection | None:
        """Open the file of the entries for reads that wait for no lock; None for a database that is not one file."""
        database = self._engine.url.database
        if not self._is_file or database is None or database == ":memory:":
            return None
        return sqlite3.connect(f"{Path(database).absolute().as_uri()}?mode=ro", uri=True, timeout=0)

    def close(self) -> None:
        """Close every connection."""
        if self._file is not None:
            self._file.close()
        self._engine.dispose()

    def _read(self, query: Select[Any]) -> Sequence[Row[Any]]:
        with self._describing_errors(), self._engine.connect() as connection:
            return connection.execute(query).all()

    def _prepare(self) -> None:
        with self._describing_errors(), self._engine.begin() as connection:
            _create_tables(connection)
            versions = set(connection.scalars(select(schema_version.c.version)))
            if not versions:
                own = text(f"INSERT INTO {schema_version.name} VALUES (:version) ON CONFLICT DO NOTHING")  # noqa: S608
                connection.execute(own, {"version": VERSION})
        if versions - {VERSION}:
            raise DataError(
                f"response cache {self._shown}: its schema has version {max(versions)}, this Trialbed has {VERSION}; "
                "give another --response-cache"
            )

    @contextmanager
    def _describing_errors(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            problem = " ".join(str(getattr(error, "orig", error)).split())
            remedy = "check that the database is running and accepts your login, or"
            if self._is_file:
                remedy = "if it is not a response cache or is damaged, move it away or"
            raise DataError(
                f"response cache {self._shown}: {problem}; {remedy} give another --response-cache"
            ) from error
        except SQLAlchemyError as error:
            raise DataError(f"response cache {self._shown}: {error}") from error


def _create_tables(connection: Connection) -> None:
    """Create the tables that are missing, safely if other servers start at the same time."""
    if connection.dialect.name == "postgresql":
        # Not even IF NOT EXISTS is safe from another transaction there.
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": SETUP_LOCK})
    for table in metadata.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
        for index in table.indexes:
            connection.execute(CreateIndex(index, if_not_exists=True))


def _read_location(location: str) -> tuple[URL, str]:
    """Return the URL of a file or a database, and the location as messages show it.

    Raises:
        UsageError: it is neither, or the file's folder cannot be created.
    """
    if "://" not in location:
        try:
            make_private_folder(Path(location).parent)
            make_private_file(Path(location))
        except OSError as error:
            raise UsageError(f"--response-cache {location}: its folder cannot be created: {error}") from error
        return URL.create("sqlite", database=location), location
    try:
        url = make_url(location)
    except (ArgumentError, ValueError) as error:
        raise UsageError(f"--response-cache {location.partition('://')[0]}://…: not a database URL") from error
    shown = url.render_as_string(hide_password=True)
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise UsageError(f"--response-cache {shown}: only SQLite files and PostgreSQL URLs are supported")
    return url, shown


def _tune(connection: sqlite3.Connection, _record: object) -> None:
    # Readers and the writer do not block each other; a crash of the machine can lose the last entries only.
    switching = Retrying(
        retry=retry_if_exception_message(match=".*locked"),
        stop=stop_after_delay(BUSY_TIMEOUT),
        wait=wait_random(0.01, 0.1),
        reraise=True,
    )
    # SQLite does not wait for a switch to WAL that another process is making.
    switching(connection.execute, "PRAGMA journal_mode=WAL").close()
    connection.execute("PRAGMA synchronous=NORMAL").close()


OVERHEAD = 400
"""Bytes per item in addition to its own size, for key, objects and table. An estimate."""


class CachedResponse(NamedTuple):
    """A stored answer, ready to send, and how it was made."""

    body: bytes
    provenance: str


class ResponseCache:
    """A store with its recently used entries in memory; an async context manager.

    Entries of a file are looked up in the event loop itself. That takes ten microseconds, ten times less than a
    thread's turn, and never waits: readers of a SQLite database in WAL mode need no lock. All other work happens in
    threads.

    Args:
        location: a file or a database URL.
        memory: bytes of responses kept in memory.
    """

    def __init__(self, location: str, memory: int) -> None:
        self._location = location
        self._room = memory
        # In the order of use.
        self._recent: dict[str, CachedResponse] = {}
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="cache-write")
        self._file: sqlite3.Connection | None = None

    async def __aenter__(self) -> Self:
        self._store = await asyncio.to_thread(ResponseStore, self._location)
        self._file = self._store.open_file()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._writer.shutdown)
        if self._file is not None:
            self._file.close()
            self._file = None
        self._store.close()

    def recent(self, key: str, origin: Origin) -> CachedResponse | None:
        """Return the answer for this key and origin if it is in memory."""
        slot = _slot(key, origin)
        found = self._recent.pop(slot, None)
        if found is not None:
            self._recent[slot] = found
        return found

    async def find(self, keys: Sequence[str], origin: Origin) -> CachedResponse | None:
        """Return the stored answer under the first of these keys, or an imported answer under another one.

        Raises:
            DataError: the database cannot be read.
        """
        try:
            rows = _look_up(self._file, keys)
        except sqlite3.Error:
            # If it is locked or damaged, the thread waits, or says so.
            rows = await asyncio.to_thread(self._store.find, keys)
        found = best(rows, keys[0], origin)
        return None if found is None else self._remember(keys[0], origin, found.body, found.origin)

    async def add(self, entry: Entry, asked: Origin | None = None) -> CachedResponse:
        """Keep this entry and return the kept answer, which is another process's if that was first.

        Args:
            asked: the requested origin, if another one has answered.

        Raises:
            DataError: the database cannot be written.
        """
        body = await asyncio.get_running_loop().run_in_executor(self._writer, self._store.keep, entry)
        return self._remember(entry.key, asked or entry.origin, body.encode("ascii"), entry.origin)

    async def examples(self, name: StandardName, origin: Origin, limit: int) -> list[tuple[str, str]]:
        """Return inputs and answers of this Api that may show a simulator of this origin its usual answers."""
        return await asyncio.to_thread(self._store.examples, name, origin, limit)

    async def inputs(self, name: StandardName) -> list[str]:
        """Return the inputs that have an entry for this Api, as canonical JSON."""
        return await asyncio.to_thread(self._store.inputs, name)

    def _remember(self, key: str, asked: Origin, body: bytes, origin: Origin) -> CachedResponse:
        """Keep a response in memory; those not used for long make room for it."""
        slot, response = _slot(key, asked), CachedResponse(body, origin.provenance)
        replaced = self._recent.pop(slot, None)
        self._recent[slot] = response
        self._room -= _size(response) - (0 if replaced is None else _size(replaced))
        while self._room < 0 and self._recent:
            self._room += _size(self._recent.pop(next(iter(self._recent))))
        return response


def _look_up(file: sqlite3.Connection | None, keys: Sequence[str]) -> list[StoredBody]:
    """Return the entries under these keys.

    Raises:
        sqlite3.Error: there is no file, or it cannot be read now.
    """
    if file is None:
        raise sqlite3.Error
    marks = ", ".join("?" * len(keys))
    # Bodies as the bytes that are sent.
    query = f"SELECT key, provenance, revision, CAST(body AS BLOB) FROM {responses.name} WHERE key IN ({marks})"  # noqa: S608 - our own name
    return [StoredBody(key, Origin(*maker), body) for key, *maker, body in file.execute(query, keys)]


def _size(response: CachedResponse) -> int:
    return len(response.body) + OVERHEAD


def _slot(key: str, origin: Origin) -> str:
    # One text instead of a tuple: with many entries every object that a hit looks at is one more cache line.
    return f"{key}{origin.provenance} {origin.revision}"
