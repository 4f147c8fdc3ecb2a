"""Replies of models, kept by their requests."""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from trialbed.files import make_private_file, make_private_folder
from trialbed.settings import secret_values
from trialbed.wire.redaction import redact

log = logging.getLogger("trialbed.model_access")

PATIENCE = 10.0
"""Seconds to wait for another process that writes."""


class CompletionCache:
    """Replies in a file, found again by the whole request and the endpoint that it went to.

    Many threads and processes may use one file. A file that cannot be read or written is reported once in the log, and
    nothing is found in it.

    Args:
        path: the file, which is made with its folder if it does not exist; ``:memory:`` keeps the replies in this
            object only.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._broken = False

    def find(self, origin: str, request: Mapping[str, Any]) -> str | None:
        """Return the reply to this request, if it is kept."""
        rows = self._run("SELECT reply FROM replies WHERE digest = ?", (_digest(origin, request),))
        return str(rows[0][0]) if rows else None

    def keep(self, origin: str, request: Mapping[str, Any], reply: str) -> None:
        """Keep a reply, unless there is one already. Secrets of this process's environment are masked in it."""
        text = redact(reply, secret_values()).encode(errors="replace").decode()
        self._run("INSERT OR IGNORE INTO replies (digest, reply) VALUES (?, ?)", (_digest(origin, request), text))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _run(self, statement: str, values: tuple[str, ...]) -> list[Any]:
        with self._lock:
            if self._broken:
                return []
            try:
                with self._open() as connection:
                    return connection.execute(statement, values).fetchall()
            except (sqlite3.Error, OSError) as error:
                self._broken = True
                log.warning("%s: the cache of completions is not used: %s", self._path, error)
                return []

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if self._path != ":memory:":
                make_private_folder(Path(self._path).parent)
                make_private_file(Path(self._path))
            self._connection = sqlite3.connect(self._path, timeout=PATIENCE, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS replies (digest TEXT PRIMARY KEY, reply TEXT NOT NULL)"
            )
        return self._connection


def _digest(origin: str, request: Mapping[str, Any]) -> str:
    text = json.dumps([origin, request], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
