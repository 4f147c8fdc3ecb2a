"""The database: its tables, and how it is found, created, opened, locked and compacted. Its errors are explained.

Columns are for queries; ``record`` is read back: the JSON of a frozen record, without the parts that have rows of their
own. Only types that SQLite and PostgreSQL share are used. Even a reader of SQLite writes files next to the store.
Readers and writers use them to find each other.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout
from sqlalchemy import (
    URL,
    Column,
    Connection,
    Double,
    Engine,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, IntegrityError, NoSuchModuleError, OperationalError
from tenacity import retry, retry_if_exception, stop_after_delay, wait_random

from trialbed.errors import DataError, UsageError
from trialbed.files import make_private_file, make_private_folder

SCHEMA_VERSION = 13
"""Incremented with a change of the tables, or of a stored record that does not read older ones.

A new field with a default needs no new version, because records that lack it are read with the default. Stores of
versions 1 to 12 were written before the first release, and are refused.
"""

metadata = MetaData()

about = Table("trialbed_store", metadata, Column("schema_version", Integer, primary_key=True, autoincrement=False))

runs = Table(
    "runs",
    metadata,
    Column("run_id", String, primary_key=True),
    Column("config_digest", String, nullable=False),
    Column("status", String, nullable=False),
    Column("created", Double, nullable=False),  # seconds since the epoch, independent of time zones
    Column("record", Text, nullable=False),
    Index("runs_by_config", "config_digest", "created"),
)

blobs = Table(
    "blobs",
    metadata,
    Column("digest", String(64), primary_key=True),  # SHA-256 of the body, hexadecimal
    Column("body", LargeBinary, nullable=False),  # zlib
)


class TrialNumbers(NamedTuple):
    """Numbers of a trial that are counted when it is stored, each in a column; None if a number is not known."""

    requests: int  # requests to the model
    request_errors: int  # failed ones
    unreported: int  # answers of the model without a report of their tokens
    prompt_tokens: int
    completion_tokens: int
    recorded_requests: int  # requests that got a recorded answer
    recorded_tokens: int  # as these answers report them
    invalid_calls: int  # calls that the model sent and that cannot be made
    truncated: int  # answers of the model that were cut at a limit of tokens
    text_calls: int  # calls that the model wrote as text
    refused: int  # requests past a limit of the trial
    lost_calls: int  # calls that the framework's offer made impossible
    filled: int  # optional arguments that had to be made up
    api_calls: int
    api_errors: int
    cached_calls: int
    waited: float  # seconds spent waiting for the endpoint, or repeating requests
    translated: int  # requests that the endpoint was asked in another dialect
    cost: float | None  # US dollars
    invented_claims: int  # calls that the agent claims and never made
    unreported_claims: int  # calls that it made and does not claim
    unasked_claims: int  # calls that no answer of the model asked for
    claimed_tokens: float | None = None
    observed_tokens: float | None = None
    claimed_turns: float | None = None
    observed_turns: float | None = None


NUMBERS = TrialNumbers._fields

trials = Table(
    "trials",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", ForeignKey("runs.run_id", ondelete="CASCADE"), nullable=False),
    Column("framework", String, nullable=False),
    Column("query_id", String, nullable=False),  # JSON, which distinguishes 5 from "5"
    Column("repeat", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("status", String, nullable=False),
    Column("failure", String),  # its kind
    Column("adapter_digest", String, nullable=False),
    Column("first", Integer, nullable=False),  # 1 for the first trial of its worker
    Column("wall_time", Double, nullable=False),  # seconds
    Column("evaluation_time", Double, nullable=False),  # seconds
    Column("ended", Double, nullable=False),  # seconds since the epoch
    Column("absent", String, nullable=False),  # scores that it cannot have, with commas
    *(Column(name, Double) for name in NUMBERS),
    # JSON: findings on integrity, what became of the expected calls, finish reasons, refusals, lost calls, the failure
    Column("facts", Text, nullable=False),
    Column("record", Text, nullable=False),
    UniqueConstraint("run_id", "framework", "query_id", "repeat", "attempt"),
)

scores = Table(
    "scores",
    metadata,
    Column("trial_id", ForeignKey("trials.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", String, nullable=False),
    Column("value", Double),
    Column("label", String),
    Column("bounded", Integer, nullable=False),  # 1 if it lies in [0, 1]
    Column("quality", Integer, nullable=False),  # 1 if it says how good an answer is; a failed trial then has 0
    Column("record", Text, nullable=False),
)

calls = Table(
    "calls",
    metadata,
    Column("trial_id", ForeignKey("trials.id", ondelete="CASCADE"), primary_key=True),
    Column("kind", String, primary_key=True),  # "model" or "api"
    Column("position", Integer, primary_key=True),
    Column("request", ForeignKey("blobs.digest"), index=True),
    Column("response", ForeignKey("blobs.digest"), index=True),
    Column("record", Text, nullable=False),
)

selections = Table(
    "selections",
    metadata,
    Column("run_id", ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    # JSON; [query id, number of tools] for columns that are offered another number than the run says
    Column("query_id", String, primary_key=True),
    Column("tools", ForeignKey("blobs.digest"), nullable=False, index=True),
)

gold_answers = Table(
    "gold_answers",
    metadata,
    Column("run_id", ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    Column("query_id", String, primary_key=True),
    Column("answer", ForeignKey("blobs.digest"), nullable=False, index=True),
)


BUSY_SECONDS = 60
"""Seconds that a writer waits for another process's transaction."""

SETUP_LOCK = 0x7472_6961
"""Names the advisory lock of PostgreSQL for creating the schema once."""


class Database:
    """An engine with the schema in place. Any thread may use it; writers of one process take turns."""

    def __init__(self, engine: Engine, *, read_only: bool = False) -> None:
        self.engine = engine
        self.read_only = read_only
        url = engine.url
        # A file is named as the user calls it, any other database without its password.
        file = url.database if url.get_backend_name() == "sqlite" else None
        self.where = file or url.render_as_string(hide_password=True)
        # For transactions of several queries; SQLite's see one state anyway.
        repeatable = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
        self._reader = engine.execution_options(**repeatable)
        self._writer = engine.execution_options(writes=True, postgresql_readonly=read_only)
        self._turn = threading.Lock()
        self._is_closed = False

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the store.

        Raises:
            DataError: it is closed.
        """
        if self._is_closed:
            raise DataError("the store is closed; read from it inside the `with` statement that opens it")
        with self.explain_errors(), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is committed as a whole or not at all."""
        with self._turn, self.explain_errors(), self._writer.begin() as connection:
            yield connection

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Turn the database's errors into errors with a next step for the user."""
        try:
            yield
        except IntegrityError:
            raise
        except DatabaseError as error:
            raise DataError(_explanation(self.where, str(error.orig))) from error
        except UnicodeDecodeError as error:  # SQLite names the malformed part, and the name itself is damaged
            raise DataError(_explanation(self.where, "its schema is malformed")) from error

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()
        self._is_closed = True

    @property
    def mark(self) -> object:
        """A value that stays equal until something is written to the database; None if there is no cheap one."""
        path = self.engine.url.database
        if self.engine.dialect.name != "sqlite" or not path:
            return None
        found: dict[str, tuple[int, int]] = {}
        for ending in ("", "-wal"):
            with suppress(OSError):  # it has no log
                state = Path(f"{path}{ending}").stat()
                found[ending] = state.st_mtime_ns, state.st_size
        return tuple(found.items())


def open_database(url_or_path: str, *, read_only: bool = False) -> Database:
    """Open the database of this URL or file, and create it if it does not exist.

    Args:
        read_only: refuse every change. The database must then exist.

    Raises:
        UsageError: the URL is malformed or its driver is not installed.
        DataError: the database is damaged, not a store, or written by another Trialbed; or ``read_only`` is set and it
            does not exist or is in a folder that cannot be written.
    """
    try:
        is_url = "://" in url_or_path
        url = make_url(url_or_path) if is_url else URL.create("sqlite", database=str(Path(url_or_path).expanduser()))
    except (ArgumentError, ValueError) as error:
        raise UsageError("the store's URL cannot be read; write it as postgresql+psycopg://USER@HOST/NAME") from error
    try:
        engine = create_engine(url)
    except (NoSuchModuleError, ImportError) as error:
        raise UsageError(
            f"a store at {url.drivername}:// needs a driver that is not installed ({error}); "
            "for PostgreSQL: pip install 'psycopg[binary]' and write postgresql+psycopg://"
        ) from error
    if engine.dialect.name == "sqlite":
        if not url.database:
            raise UsageError("the store needs a file; name one, such as .trialbed/trialbed.db")
        file, is_file = Path(url.database), "uri" not in url.query and url.database != ":memory:"
        if read_only and is_file and not file.exists():
            raise _no_store(url.database)
        try:
            make_private_folder(file.parent)
        except OSError as error:
            raise UsageError(
                f"the store's folder {file.parent} cannot be created: {error.strerror}; name another file"
            ) from error
        if is_file and not read_only:
            make_private_file(file)
        event.listen(engine, "begin", _begin)
        event.listen(engine, "connect", partial(_set_pragmas, read_only=read_only))
    database = Database(engine, read_only=read_only)
    try:
        _create(database)
    except BaseException:
        database.close()
        raise
    return database


def _set_pragmas(connection: Any, _record: Any, *, read_only: bool) -> None:
    connection.isolation_level = None  # transactions begin at our statements, not at the driver's guess
    settings = (f"busy_timeout={BUSY_SECONDS * 1000}", "journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON")
    for setting in (*settings, f"query_only={int(read_only)}"):
        connection.execute(f"PRAGMA {setting}").close()


def _no_store(where: str) -> DataError:
    return DataError(f"there is no store at {where}; `bench run` creates one, or name another with --store")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    # A transaction that reads first and writes later cannot wait for another writer; this one takes the lock first.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _is_busy(error: BaseException) -> bool:
    return isinstance(error.__cause__, OperationalError) and "locked" in str(error.__cause__)


# Another process is creating the same database: SQLite does not wait for the switch to WAL.
@retry(
    retry=retry_if_exception(_is_busy), stop=stop_after_delay(BUSY_SECONDS), wait=wait_random(0.01, 0.1), reraise=True
)
def _create(database: Database) -> None:
    with database.read() as connection:
        if _version(connection, database.where) is not None:
            return
    if database.read_only:
        raise _no_store(database.where)
    with database.write() as connection:  # only now is the lock needed: readers never wait for writers
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": SETUP_LOCK})
        # Asked again under the lock: another process may have done it meanwhile.
        if _version(connection, database.where) is None:
            metadata.create_all(connection)
            connection.execute(about.insert().values(schema_version=SCHEMA_VERSION))


def _version(connection: Connection, where: str) -> int | None:
    """Return the schema's version, None for an empty database.

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
        # The driver itself, because a statement of SQLAlchemy begins a transaction, which would prevent compaction.
        driver.execute("COMMIT") if driver.in_transaction else None
        driver.execute("VACUUM")
        # The log of changes is as large as the store now, and would stay next to it.
        driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


SIZE = 8
"""Bytes of a lock name's digest, which fit PostgreSQL's advisory locks and suffice for a file's name."""

KEEPALIVE = {"tcp_keepalives_idle": "60", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "6"}
"""PostgreSQL frees the lock of a machine that vanished after two minutes, instead of the system's two hours."""

PATIENCE = 0.3
"""Seconds for taking the lock of a file, which another process may hold for a moment while checking it."""

GLANCE = 0.1
"""Seconds for checking whether it is held; other processes check it faster."""

UNDER_WAY = "the same run is running in another process; wait until it ends, or change --seed or --store to run both"


@contextmanager
def hold(engine: Engine, name: str) -> Iterator[None]:
    """Hold the lock of this name; the system releases it when the process ends, even if it is killed.

    Raises:
        UsageError: another process has it.
    """
    if engine.dialect.name == "postgresql":
        with _advisory(engine, name):
            yield
        return
    path = _path(engine, name)
    lock = FileLock(path, timeout=PATIENCE)
    try:
        lock.acquire()
    except Timeout as error:
        raise UsageError(UNDER_WAY) from error
    try:
        yield
    finally:
        # Removed while the lock is held: later the file could be another process's, and a third would lock a new file.
        with suppress(OSError):
            path.unlink()
        lock.release()


def is_held(engine: Engine, name: str) -> bool:
    """Return whether a process holds the lock of this name, or True if that is not known."""
    if engine.dialect.name == "postgresql":
        return _is_advisory_held(engine, name)
    path = _path(engine, name)
    if not path.exists():
        return False
    try:
        with FileLock(path, timeout=GLANCE, poll_interval=GLANCE / 10):
            return False
    except (Timeout, OSError):
        return True


def _is_advisory_held(engine: Engine, name: str) -> bool:
    key = int.from_bytes(_digest(name))
    held = text(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 "
        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
        "AND classid::bigint = :high AND objid::bigint = :low"
    )
    with engine.connect() as connection:
        return bool(connection.scalar(held, {"high": key >> 32, "low": key & 0xFFFF_FFFF}))


def _path(engine: Engine, name: str) -> Path:
    return Path(f"{Path(engine.url.database or '').resolve()}.{_digest(name).hex()}.lock")


def _digest(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=SIZE).digest()


@contextmanager
def _advisory(engine: Engine, name: str) -> Iterator[None]:
    key = int.from_bytes(_digest(name), signed=True)
    connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    try:
        connection.detach()  # the lock is the session's: closing ends it, and it must not return to the pool
        for setting, value in KEEPALIVE.items():
            connection.execute(text("SELECT set_config(:setting, :value, false)"), {"setting": setting, "value": value})
        if not connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": key}):
            raise UsageError(UNDER_WAY)
        try:
            yield
        finally:
            # A session's end frees it too, but only when the server has noticed that end.
            with suppress(DBAPIError):  # the server may have gone; the run's records are safe or were refused
                connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": key})
    finally:
        with suppress(DBAPIError):
            connection.close()
