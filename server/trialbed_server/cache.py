"""The response cache as the server uses it: it never blocks the event loop, and hits need no thread."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, NamedTuple, Self, TypeVar

from trialbed_server.response_store import AUTHORITATIVE, Entry, Origin, ResponseStore, best, responses
from trialbed_server.standard_names import StandardName

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


Value = TypeVar("Value")

OVERHEAD = 400
"""Bytes an item costs in addition to its own size: key, objects, table. An estimate."""


class Recent(Generic[Value]):
    """Keeps items used recently, up to a number of bytes. Not for several threads.

    Two generations stand for an order of use: an item that is used again moves to the young one; when that has
    grown to half of the capacity it becomes the old one, and entries not used since the last time go. So the
    usual hit is one look into one dict and changes nothing.

    Args:
        capacity: in bytes.
        sizeof: the size of a value in bytes.
    """

    def __init__(self, capacity: int, sizeof: Callable[[Value], int]) -> None:
        self._half = capacity // 2
        self._sizeof = sizeof
        self._size = 0
        self._young: dict[str, Value] = {}
        self._old: dict[str, Value] = {}

    def get(self, key: str) -> Value | None:
        """The item of this key."""
        found = self._young.get(key)
        if found is not None:
            return found
        found = self._old.pop(key, None)
        if found is not None:
            self.put(key, found)
        return found

    def put(self, key: str, value: Value) -> None:
        """Keep this item; items not used for long make room for it."""
        replaced = self._young.get(key)
        if replaced is not None:
            self._size -= self._sizeof(replaced) + OVERHEAD
        size = self._sizeof(value) + OVERHEAD
        self._size += size
        self._young[key] = value
        if self._size > self._half:
            self._old, self._young, self._size = self._young, {}, 0
            if size > self._half:
                del self._old[key]


Result = TypeVar("Result")


class CachedResponse(NamedTuple):
    """A stored answer, ready to send, and how it was made."""

    body: bytes
    provenance: str


class ResponseCache:
    """A store with its threads, and the recently used entries in memory; an async context manager.

    Readers and the writer have threads of their own, so that neither waits for the other or for anything else.

    Args:
        location: a file or a database URL.
        memory: bytes of responses kept in memory.
    """

    def __init__(self, location: str, memory: int) -> None:
        self._location = location
        self._recent: Recent[CachedResponse] = Recent(memory, lambda response: len(response.body))
        self._readers = ThreadPoolExecutor(4, thread_name_prefix="cache-read")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="cache-write")
        self._direct: DirectReader | None = None

    async def __aenter__(self) -> Self:
        self._store = await asyncio.to_thread(ResponseStore, self._location)
        if self._store.file is not None:
            later = asyncio.get_running_loop().call_soon
            self._direct = await asyncio.to_thread(DirectReader.of, self._store.file, later)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for executor in (self._writer, self._readers):
            await asyncio.to_thread(executor.shutdown)
        if self._direct is not None:
            self._direct.close()
            self._direct = None
        self._store.close()

    def recent(self, key: str, origin: Origin) -> CachedResponse | None:
        """The answer for this key and origin if it is in memory."""
        return self._recent.get(_slot(key, origin))

    def at_once(self, key: str, alias: Callable[[], str], origin: Origin) -> CachedResponse | None:
        """The answer under this key, or imported under the other one, if it takes no waiting to have it.

        Args:
            alias: makes the other key.
        """
        slot = _slot(key, origin)
        found = self._recent.get(slot)
        if found is not None or self._direct is None:
            return found
        read = self._direct.find(key, alias, origin)
        if read is None:
            return None
        response = CachedResponse(*read)
        self._recent.put(slot, response)
        return response

    async def find(self, keys: Sequence[str], origin: Origin) -> CachedResponse | None:
        """The stored answer under the first of these keys, or imported under one of the others.

        Raises:
            DataError: the database cannot be read.
        """
        entry = best(await self._run(self._readers, lambda: self._store.find(keys)), keys[0], origin)
        return None if entry is None else self._remember(keys[0], origin, entry)

    async def add(self, entry: Entry, asked: Origin | None = None, *, replace: bool = False) -> CachedResponse:
        """Keep this entry and return the kept one, which is another process's if that was first.

        Args:
            asked: the origin that was asked for, where another one has answered.
            replace: whether it takes the place of one that is there.

        Raises:
            DataError: the database cannot be written.
        """
        stored = await self._run(self._writer, lambda: self._keep(entry, replace=replace))
        return self._remember(entry.key, asked or entry.origin, stored)

    async def claim(self, claim: str, owner: str, seconds: float) -> bool:
        """Claim a computation for so many seconds, unless another server of this cache has."""
        return await self._run(self._writer, lambda: self._store.claim(claim, owner, seconds))

    async def release(self, claim: str, owner: str) -> None:
        """End a claim."""
        await self._run(self._writer, lambda: self._store.release(claim, owner))

    async def check(self) -> None:
        """See that the database can be read.

        Raises:
            DataError: it cannot.
        """
        await self._run(self._readers, lambda: self._store.find([""]))

    async def examples(self, name: StandardName, origin: Origin, limit: int) -> list[Entry]:
        """Return entries of this Api that may show a simulator of this origin its usual answers."""
        return await self._run(self._readers, lambda: self._store.examples(name, origin, limit))

    async def inputs(self, name: StandardName) -> list[str]:
        """The inputs that have an entry for this Api, as canonical JSON."""
        return await self._run(self._readers, lambda: self._store.inputs(name))

    def _keep(self, entry: Entry, *, replace: bool) -> Entry:
        if replace:
            self._store.replace(entry)
            return entry
        if self._store.add([entry]):
            return entry
        stored = (found for found in self._store.find([entry.key]) if found.origin == entry.origin)
        return next(stored, entry)

    def _remember(self, key: str, asked: Origin, entry: Entry) -> CachedResponse:
        response = CachedResponse(entry.body.encode("ascii"), entry.origin.provenance)
        self._recent.put(_slot(key, asked), response)
        return response

    async def _run(self, executor: ThreadPoolExecutor, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(executor, work)


def _slot(key: str, origin: Origin) -> str:
    # One text instead of a tuple: with many entries every object that a hit looks at is one more cache line.
    return f"{key}{origin.provenance} {origin.revision}"
