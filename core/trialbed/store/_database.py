"""Opens a database: finds it, sets it up, compacts it, and explains its errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, select, text
from sqlalchemy.exc import ArgumentError, DatabaseError, IntegrityError, NoSuchModuleError, OperationalError
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random

from trialbed.errors import DataError, UsageError
from trialbed.files import make_private_file, make_private_folder
from trialbed.store._immutable import cannot_be_written, check_no_changes, immutable_engine
from trialbed.store._schema import SCHEMA_VERSION, about, metadata

BUSY_SECONDS = 60
"""Seconds that a writer waits for another process's transaction."""

SETUP_LOCK = 0x7472_6961
"""Names the advisory lock under which PostgreSQL creates the schema once."""


class Database:
    """An engine with the schema in place. Any thread may use it; writers of one process take turns."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.where = _where(engine.url)
        self._reader = _one_state(engine)
        self._writer = engine.execution_options(writes=True)
        self._turn = threading.Lock()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the store."""
        with self.explain_errors(), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is committed as a whole or not at all."""
        with self._turn, self.explain_errors(), self._writer.begin() as connection:
            yield connection

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Turn the database's errors into those that say what to do."""
        try:
            yield
        except IntegrityError:
            raise
        except DatabaseError as error:
            raise DataError(_explanation(self.where, str(error.orig))) from error
        except UnicodeDecodeError as error:  # SQLite names the malformed part, and the name itself is damaged
            raise DataError(_explanation(self.where, "its schema is malformed")) from error


def open_database(url_or_path: str, *, read_only: bool = False) -> Database:
    """Open, and create where absent, the database of this URL or file.

    Args:
        read_only: refuse every change. The database must then be there.

    Raises:
        UsageError: the URL is malformed or its driver is not installed.
        DataError: the database is damaged, not a store, or written by another Trialbed; or it is to be read only, and
            does not exist or has changes that cannot be read where nothing can be written.
    """
    url = store_url(url_or_path)
    if not read_only:
        return _set_up_database(_engine(url))
    _check_there(url)
    make = _engine
    try:
        _set_up_database(make(url)).engine.dispose()
    except DataError as error:
        if not (isinstance(error.__cause__, OperationalError) and cannot_be_written(url)):
            raise
        check_no_changes(url, _where(url))
        make = immutable_engine
        _set_up_database(make(url)).engine.dispose()
    return Database(_read_only(make(url)))


def _set_up_database(engine: Engine) -> Database:
    database = Database(engine)
    try:
        _set_up(database)
    except BaseException:
        engine.dispose()
        raise
    return database


class OpenDatabase:
    """A database that can be read until it is closed."""

    def __init__(self, url_or_path: str) -> None:
        self._database: Database | None = open_database(url_or_path, read_only=True)

    @property
    def database(self) -> Database:
        """The database.

        Raises:
            DataError: it is closed.
        """
        if self._database is None:
            raise DataError("the store is closed; read from it inside the `with` statement that opens it")
        return self._database

    @property
    def mark(self) -> object:
        """Equal as long as nothing has been written to it; None where that is not known at once."""
        path = self.database.engine.url.database
        if self.database.engine.dialect.name != "sqlite" or not path:
            return None
        return tuple(_state_of_file(Path(f"{path}{ending}")) for ending in ("", "-wal"))

    def read(self) -> AbstractContextManager[Connection]:
        """A transaction that sees one state of the store."""
        return self.database.read()

    def close(self) -> None:
        """Close every connection."""
        if self._database is not None:
            self._database.engine.dispose()
            self._database = None


def _state_of_file(path: Path) -> tuple[int, int] | None:
    """Return the time of a file's last change, in nanoseconds, and its size; None without one."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def store_url(url_or_path: str) -> URL:
    """Return the URL of a store that is given by one, or as a file.

    Raises:
        UsageError: it is malformed.
    """
    if "://" in url_or_path:
        try:
            return make_url(url_or_path)
        except (ArgumentError, ValueError) as error:
            raise UsageError(
                "the store's URL cannot be read; write it as postgresql+psycopg://USER@HOST/NAME"
            ) from error
    return URL.create("sqlite", database=str(Path(url_or_path).expanduser()))


def _where(url: URL) -> str:
    """The database in an error's text: the file as it is called, or the URL without its password."""
    if url.get_backend_name() == "sqlite" and url.database:
        return url.database
    return url.render_as_string(hide_password=True)


def _check_there(url: URL) -> None:
    is_file = url.get_backend_name() == "sqlite" and "uri" not in url.query
    if is_file and not Path(url.database or "").exists():
        raise DataError(f"there is no store at {_where(url)}; `bench run` creates one, or name another with --store")


def _read_only(engine: Engine) -> Engine:
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _refuse_changes)
        return engine
    return engine.execution_options(postgresql_readonly=True)


def _refuse_changes(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA query_only=ON").close()


def _one_state(engine: Engine) -> Engine:
    """The engine for transactions of several queries; SQLite's see one state anyway."""
    return (
        engine.execution_options(isolation_level="REPEATABLE READ") if engine.dialect.name == "postgresql" else engine
    )


def _engine(url: URL) -> Engine:
    try:
        engine = create_engine(url)
    except (NoSuchModuleError, ImportError) as error:
        raise UsageError(
            f"a store at {url.drivername}:// needs a driver that is not installed ({error}); "
            "for PostgreSQL: pip install 'psycopg[binary]' and write postgresql+psycopg://"
        ) from error
    if engine.dialect.name == "sqlite":
        _make_folder(url)
        event.listen(engine, "connect", _set_pragmas)
        event.listen(engine, "begin", _begin)
    return engine


def _make_folder(url: URL) -> None:
    if not url.database:
        raise UsageError("the store needs a file; name one, such as .trialbed/trialbed.db")
    folder = Path(url.database).parent
    try:
        make_private_folder(folder)
    except OSError as error:
        raise UsageError(
            f"the store's folder {folder} cannot be created: {error.strerror}; name another file"
        ) from error
    if "uri" not in url.query and url.database != ":memory:":
        make_private_file(Path(url.database))


def _set_pragmas(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so, not where the driver guesses
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    # A transaction that reads first and writes later cannot wait for another writer; this one takes the lock at once.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _set_up(database: Database) -> None:
    for attempt in Retrying(
        retry=retry_if_exception_type(_Busy),
        stop=stop_after_delay(BUSY_SECONDS),
        wait=wait_random(0.01, 0.1),
        reraise=True,
    ):
        with attempt:
            _create(database)


class _Busy(DataError):
    """Another process is creating the same database: SQLite does not wait for the switch to WAL."""


def _create(database: Database) -> None:
    try:
        with database.read() as connection:
            version = _version(connection, database.where)
        if version is None:  # only then is the lock needed: readers never wait for writers
            _create_tables(database)
    except DataError as error:
        if isinstance(error.__cause__, OperationalError) and "locked" in str(error.__cause__):
            raise _Busy(str(error)) from error
        raise


def _create_tables(database: Database) -> None:
    with database.write() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": SETUP_LOCK})
        # Asked again under the lock: another process may have done it meanwhile.
        if _version(connection, database.where) is None:
            metadata.create_all(connection)
            connection.execute(about.insert().values(schema_version=SCHEMA_VERSION))


def _version(connection: Connection, where: str) -> int | None:
    """The schema's version, None for an empty database.

    Raises:
        DataError: it is another program's database, or another Trialbed's.
    """
    tables = set(inspect(connection).get_table_names())
    if about.name not in tables:
        if tables & set(metadata.tables):
            raise DataError(f"{where} is another program's database; name another file or database for the store")
        return None
    version = int(connection.scalar(select(about.c.schema_version)) or 0)
    if version < 1:
        raise DataError(f"the store {where} is damaged: it has no schema version; restore a copy of it")
    if version != SCHEMA_VERSION:
        raise DataError(
            f"the store {where} has schema version {version}, and this Trialbed reads version {SCHEMA_VERSION}; "
            "use the Trialbed that wrote it, or name another store"
        )
    return version


def _explanation(where: str, cause: str) -> str:
    if "locked" in cause:
        todo = "another program holds it; end that program or name another store"
    elif "full" in cause:
        todo = "make room on its disk and run the same command again; what was committed is kept"
    elif "unable to open" in cause or "readonly" in cause:
        todo = "check that the file and its folder can be written, or name another store"
    elif "not a database" in cause or "malformed" in cause:
        todo = "the file is damaged or is not a store; move it away to start afresh, or restore a copy of it"
    else:
        todo = "check that the database is reachable and undamaged, or name another store"
    return f"the store {where} cannot be used: {cause}; {todo}"


def compact(engine: Engine) -> None:
    """Compact the database; nothing that is kept in it changes."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if engine.dialect.name == "postgresql":
            for table in metadata.sorted_tables:
                connection.execute(text(f"VACUUM {table.name}"))
            return
        driver: Any = connection.connection.driver_connection
        # The driver itself: a statement of SQLAlchemy begins a transaction, in which nothing can be compacted.
        driver.execute("COMMIT") if driver.in_transaction else None
        driver.execute("VACUUM")
        # The log of changes is as large as the store now, and would stay beside it.
        driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
