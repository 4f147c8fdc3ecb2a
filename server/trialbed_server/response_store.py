"""The database of the response cache, on SQLite and PostgreSQL alike. Every call blocks; make it in a thread."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    Engine,
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
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.schema import CreateIndex, CreateTable
from tenacity import Retrying, retry_if_exception_message, stop_after_delay, wait_random

from trialbed.errors import DataError, UsageError
from trialbed.files import make_private_file, make_private_folder
from trialbed_server.standard_names import StandardName

AUTHORITATIVE = ("real", "imported")
"""Origins whose responses are good for every trial, best first; others belong to one simulator."""


class Origin(NamedTuple):
    """The maker of a response: the provenance and the maker's revision (empty where it has none)."""

    provenance: str
    revision: str = ""


ANY = Origin("*")
"""Stands for every origin: with it, any entry is good."""

NO_ONE = Origin("")
"""Stands for no origin: with it, only authoritative entries are good."""


@dataclass(frozen=True)
class Entry:
    """A cached response.

    Attributes:
        key: of the triple and the input, see ``standard_names``.
        name: the standardised triple.
        input: canonical JSON of the input.
        body: JSON of the whole answer, ``{"error": …, "response": …}``.
        settings: JSON of the settings it was made with, such as the model's; empty if there are none.
    """

    key: str
    name: StandardName
    input: str
    body: str
    origin: Origin
    settings: str = ""


class Stored(Protocol):
    """Anything that has a key and an origin."""

    @property
    def key(self) -> str:
        """The digest of the triple and the input."""

    @property
    def origin(self) -> Origin:
        """Its maker."""


AnyEntry = TypeVar("AnyEntry", bound=Stored)


def best(entries: Sequence[AnyEntry], key: str, origin: Origin) -> AnyEntry | None:
    """The entry to answer with: authoritative ones first, then those of this origin under the very key.

    An entry under another key than asked for is one of an imported spelling, and must have been imported.
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

_NAMES = [column.name for column in responses.columns]
_KEEP = f"""
    INSERT INTO {responses.name} ({", ".join(_NAMES)}) VALUES ({", ".join(f":{name}" for name in _NAMES)})
    ON CONFLICT (key, provenance, revision) DO UPDATE SET """  # noqa: S608 - our own names
KEEPING = {
    # An update that changes nothing returns the row that is there.
    False: f"{_KEEP} body = {responses.name}.body RETURNING body",
    True: f"""{_KEEP} body = excluded.body, settings = excluded.settings, created_at = excluded.created_at
    RETURNING body""",
}
"""Whether it takes the place of another one -> the statement that keeps an entry."""

BUSY_TIMEOUT = 30.0
"""Seconds a writer waits for another process's transaction."""

SETUP_LOCK = 0x7472_6962
"""Names the advisory lock under which PostgreSQL creates the tables once."""


class ResponseStore:
    """Entries on disk. Several processes may use one database; none overwrites another's entry.

    Args:
        location: a file, or a database URL (``postgresql+psycopg://…``).

    Raises:
        UsageError: the location is not a usable file or URL.
        DataError: the tables there are not a response cache of this version.
    """

    def __init__(self, location: str) -> None:
        self._shown = _without_password(location)
        self._engine = _engine(location)
        try:
            self._prepare()
        except BaseException:
            self._engine.dispose()
            raise
        # A file is written without SQLAlchemy's part, which takes longer than the database's.
        self._file = self._engine.raw_connection() if self._engine.dialect.name == "sqlite" else None

    def find(self, keys: Sequence[str]) -> list[Entry]:
        """Every entry under these keys."""
        return [_entry(row) for row in self._read(select(responses).where(responses.c.key.in_(keys)))]

    def add(self, entries: Sequence[Entry], aliases: Sequence[Entry] = ()) -> int:
        """Keep these entries, in one transaction, if there are none of their key and origin; how many were new.

        Args:
            aliases: kept as well, and not counted.
        """
        now, new = datetime.now(UTC), 0
        statement = self._insert(responses).on_conflict_do_nothing()
        with self._describing_errors(), self._engine.begin() as connection:
            if entries:
                values = [_values(entry, now) for entry in entries]
                new = len(connection.execute(statement.returning(responses.c.key), values).all())
            if aliases:
                connection.execute(statement, [_values(entry, now) for entry in aliases])
        return new

    def keep(self, entry: Entry, *, replace: bool = False) -> str:
        """Keep this entry; return the body that is kept: that of its key and origin, if it is not to be replaced."""
        values = _values(entry, datetime.now(UTC))
        with self._describing_errors():
            if self._file is None:
                with self._engine.begin() as connection:
                    return str(connection.scalar(text(KEEPING[replace]), values))
            values["created_at"] = f"{values['created_at']:%Y-%m-%d %H:%M:%S.%f}"
            with cast("sqlite3.Connection", self._file.driver_connection) as file:
                return str(file.execute(KEEPING[replace], values).fetchone()[0])

    def examples(self, name: StandardName, origin: Origin, limit: int) -> list[Entry]:
        """Entries of this Api: real and imported ones first, then those of this origin; at most ``limit``."""
        known = responses.c.provenance.in_(AUTHORITATIVE)
        own = (responses.c.provenance == origin.provenance) & (responses.c.revision == origin.revision)
        query = select(responses).where(responses.c.api == json.dumps(name), known | own)
        order = (case((known, 0), else_=1), responses.c.input)
        return [_entry(row) for row in self._read(query.order_by(*order).limit(limit))]

    def inputs(self, name: StandardName, limit: int = 1000) -> list[str]:
        """The distinct inputs, as canonical JSON, that have an entry for this Api; at most ``limit``."""
        query = select(responses.c.input).where(responses.c.api == json.dumps(name)).distinct()
        return [row.input for row in self._read(query.order_by(responses.c.input).limit(limit))]

    def open_file(self) -> sqlite3.Connection | None:
        """Open the file of the entries for reads that wait for no lock; None for a database that is not one file."""
        database = self._engine.url.database
        if self._engine.dialect.name != "sqlite" or database is None or database == ":memory:":
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

    def _insert(self, table: Table) -> Any:
        """Return an insertion in the database's dialect, which supports ON CONFLICT."""
        if self._engine.dialect.name == "sqlite":
            return sqlite.insert(table)
        from sqlalchemy.dialects import postgresql  # most caches are files

        return postgresql.insert(table)

    def _prepare(self) -> None:
        with self._describing_errors(), self._engine.begin() as connection:
            _create_tables(connection)
            versions = set(connection.scalars(select(schema_version.c.version)))
            if not versions:
                connection.execute(self._insert(schema_version).values(version=VERSION).on_conflict_do_nothing())
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
            raise DataError(f"response cache {self._shown}: {problem}; {self._remedy}") from error
        except SQLAlchemyError as error:
            raise DataError(f"response cache {self._shown}: {error}") from error

    @property
    def _remedy(self) -> str:
        if self._engine.dialect.name != "sqlite":
            return "check that the database is running and accepts your login, or give another --response-cache"
        return "if it is not a response cache or is damaged, move it away or give another --response-cache"


def _create_tables(connection: Connection) -> None:
    """Create the tables that are missing, safely if other servers start at the same time."""
    if connection.dialect.name == "postgresql":
        # Not even IF NOT EXISTS is safe from another transaction there.
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": SETUP_LOCK})
    for table in metadata.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
        for index in table.indexes:
            connection.execute(CreateIndex(index, if_not_exists=True))


def _engine(location: str) -> Engine:
    url, shown = _url(location), _without_password(location)
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise UsageError(f"--response-cache {shown}: only SQLite files and PostgreSQL URLs are supported")
    is_file = url.get_backend_name() == "sqlite"
    try:
        engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT} if is_file else {})
    except (SQLAlchemyError, ImportError) as error:
        raise UsageError(f"--response-cache {shown}: {error}; install the database's driver") from error
    if is_file:
        event.listen(engine, "connect", _tune)
    return engine


def _url(location: str) -> URL:
    if "://" not in location:
        path = Path(location)
        try:
            make_private_folder(path.parent)
            make_private_file(path)
        except OSError as error:
            raise UsageError(f"--response-cache {location}: its folder cannot be created: {error}") from error
        return URL.create("sqlite", database=str(path))
    try:
        return make_url(location)
    except (ArgumentError, ValueError) as error:
        raise UsageError(f"--response-cache {_without_password(location)}: not a database URL") from error


def _without_password(location: str) -> str:
    """Return a location as messages show it."""
    if "://" not in location:
        return location
    try:
        return make_url(location).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return f"{location.partition('://')[0]}://…"


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


def _values(entry: Entry, now: datetime) -> dict[str, Any]:
    return {
        "key": entry.key,
        "provenance": entry.origin.provenance,
        "revision": entry.origin.revision,
        "api": json.dumps(entry.name),
        "input": entry.input,
        "body": entry.body,
        "created_at": now,
        "settings": entry.settings,
    }


def _entry(row: Row[Any]) -> Entry:
    name = StandardName(*json.loads(row.api))
    return Entry(row.key, name, row.input, row.body, Origin(row.provenance, row.revision), row.settings)
