"""Reads of a SQLite response cache that are over before a thread could begin them."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

from trialbed_server.cache._entries import AUTHORITATIVE, Origin, best
from trialbed_server.cache._tables import responses

SLOW = 0.02
"""Seconds of a slow read: the operating system does not hold the page in memory, or it has other things to do."""

SLOW_READS = 3
"""Slow reads in a row after which the file is to blame."""

REST = 1.0
"""Seconds for which a slow file is left to threads."""

# Bodies as the bytes that are sent.
_QUERY = f"SELECT provenance, revision, CAST(body AS BLOB) FROM {responses.name} WHERE key = ?"  # noqa: S608 - our own name


Later = Callable[[Callable[[], None]], object]


class EntryRow(NamedTuple):
    """The columns of an entry that an answer needs."""

    key: str
    origin: Origin
    body: bytes


class DirectReader:
    """Looks entries up in the event loop itself: ten microseconds, where a thread's turn takes a hundred.

    It never waits for a lock: readers of a database in WAL mode wait for none, and one that is locked all the same, or
    cannot be read, is left to those who look in threads. So is a slow one, for a while.

    All reads of one turn of the event loop are one transaction, as its begin and end take as long as a read.

    Args:
        later: calls a function when the turn has ended.
        clock: seconds that only ever grow.
    """

    def __init__(
        self, connection: sqlite3.Connection, later: Later, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._connection = connection
        self._execute = connection.cursor().execute
        self._later = later
        self._clock = clock
        self._reading = False
        self._slow_reads = 0
        self._rest_until = 0.0

    @classmethod
    def of(cls, file: str, later: Later) -> Self | None:
        """A reader of this file; None where it cannot be opened for reading alone."""
        url = f"{Path(file).absolute().as_uri()}?mode=ro"
        try:
            connection = sqlite3.connect(url, uri=True, timeout=0, isolation_level=None, check_same_thread=False)
        except sqlite3.Error:
            return None
        return cls(connection, later)

    def find(self, key: str, alias: Callable[[], str], origin: Origin) -> tuple[bytes, str] | None:
        """Return the body to answer with, and its provenance; None where there is none, or where a thread must look.

        Args:
            alias: makes the key under which an imported entry may be, should there be no authoritative one under
                ``key``.
        """
        began = self._clock()
        if began < self._rest_until:
            return None
        try:
            if not self._reading:
                self._execute("BEGIN")
                self._reading = True
                self._later(self._end)
            rows = self._execute(_QUERY, (key,)).fetchall()
            if len(rows) == 1 and rows[0][0] in AUTHORITATIVE:
                return rows[0][2], rows[0][0]
            found = self._best(rows, key, alias, origin)
        except sqlite3.Error:
            return None
        finally:
            self._judge(began, self._clock())
        return None if found is None else (found.body, found.origin.provenance)

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def _end(self) -> None:
        self._reading = False
        with contextlib.suppress(sqlite3.Error):
            self._execute("COMMIT")

    def _best(self, rows: list[Any], key: str, alias: Callable[[], str], origin: Origin) -> EntryRow | None:
        found = _rows(key, rows)
        if not any(row.origin.provenance in AUTHORITATIVE for row in found):
            other = alias()
            if other != key:
                found += _rows(other, self._execute(_QUERY, (other,)).fetchall())
        return best(found, key, origin)

    def _judge(self, began: float, ended: float) -> None:
        self._slow_reads = self._slow_reads + 1 if ended - began > SLOW else 0
        if self._slow_reads == SLOW_READS:
            self._slow_reads, self._rest_until = 0, ended + REST


def _rows(key: str, found: list[Any]) -> list[EntryRow]:
    return [EntryRow(key, Origin(provenance, revision), body) for provenance, revision, body in found]
