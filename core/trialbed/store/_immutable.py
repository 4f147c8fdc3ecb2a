"""Reads a file of SQLite in a folder that cannot be written, such as one of a mounted archive.

A reader writes, too: into files beside the store, by which readers and writers know of each other. Where none of them
can be made nobody else writes either, and the file is read as one that does not change.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from sqlalchemy import URL, Engine, create_engine, event

from trialbed.errors import DataError


def cannot_be_written(url: URL) -> bool:
    """Return whether this is a file in a folder in which this process can make no files."""
    if url.get_backend_name() != "sqlite" or "uri" in url.query or not url.database:
        return False
    file = Path(url.database)
    return file.is_file() and not os.access(file.absolute().parent, os.W_OK)


def check_no_changes(url: URL, where: str) -> None:
    """Refuse a file beside which changes stand that are not in it yet.

    Raises:
        DataError: there are such; says what to copy.
    """
    log = Path(f"{url.database}-wal")
    try:
        has_changes = log.stat().st_size > 0
    except OSError:
        return
    if has_changes:
        raise DataError(
            f"the store {where} cannot be read where it is: its folder cannot be written, and {log.name} beside it has "
            "trials that are not in it yet; copy both files into another folder and name the copy with --store"
        )


def immutable_engine(url: URL) -> Engine:
    """Return an engine that reads the file, and makes none beside it."""
    address = f"{Path(url.database or '').absolute().as_uri()}?mode=ro&immutable=1"
    # The engine keeps the file's own URL, by which it is named in errors and by its locks.
    engine = create_engine(url, creator=lambda: sqlite3.connect(address, uri=True, check_same_thread=False))
    event.listen(engine, "connect", _begin_ourselves)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def _begin_ourselves(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None
