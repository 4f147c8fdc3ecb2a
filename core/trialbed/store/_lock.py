"""A lock that one process at a time holds, beside the store or in its database."""

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
"""Bytes of the digest of a lock's name: what PostgreSQL takes for an advisory lock, and enough for a file's name."""

KEEPALIVE = {"tcp_keepalives_idle": "60", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "6"}
"""PostgreSQL frees the lock of a machine that vanished after two minutes, instead of the system's two hours."""

UNDER_WAY = "the same run is running in another process; wait until it ends, or change --seed or --store to run both"


@contextmanager
def hold(engine: Engine, name: str) -> Iterator[None]:
    """Hold the lock of this name; the system releases it when the process ends, however it ends.

    Raises:
        UsageError: another process has it.
    """
    with _advisory(engine, name) if engine.dialect.name == "postgresql" else _file(engine, name):
        yield


def _digest(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=SIZE).digest()


@contextmanager
def _file(engine: Engine, name: str) -> Iterator[None]:
    path = Path(f"{Path(engine.url.database or '').resolve()}.{_digest(name).hex()}.lock")
    lock = FileLock(path, timeout=0)
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
        yield
    finally:
        with suppress(DBAPIError):  # the server may have gone; what the run wrote is safe or was refused
            connection.close()
