"""A lock that one process holds at a time, in a file next to the store or in its database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from trialbed.errors import UsageError

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
