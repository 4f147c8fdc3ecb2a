"""The response cache as the server uses it: hits need no thread, and nothing else blocks the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import NamedTuple, Self

from trialbed_server.response_store import Entry, Origin, ResponseStore, best, responses
from trialbed_server.standard_names import StandardName

OVERHEAD = 400
"""Bytes an item costs in addition to its own size: key, objects, table. An estimate."""


class CachedResponse(NamedTuple):
    """A stored answer, ready to send, and how it was made."""

    body: bytes
    provenance: str


class Recent:
    """Keeps responses used recently, up to a number of bytes. Not for several threads."""

    def __init__(self, capacity: int) -> None:
        self._left = capacity
        # In the order of use.
        self._kept: dict[str, CachedResponse] = {}

    def get(self, key: str) -> CachedResponse | None:
        """The response of this key."""
        found = self._kept.pop(key, None)
        if found is not None:
            self._kept[key] = found
        return found

    def put(self, key: str, response: CachedResponse) -> None:
        """Keep this response; those not used for long make room for it."""
        replaced = self._kept.pop(key, None)
        if replaced is not None:
            self._left += len(replaced.body) + OVERHEAD
        self._kept[key] = response
        self._left -= len(response.body) + OVERHEAD
        while self._left < 0 and self._kept:
            oldest = self._kept.pop(next(iter(self._kept)))
            self._left += len(oldest.body) + OVERHEAD


class _Row(NamedTuple):
    """The columns of an entry that an answer needs."""

    key: str
    origin: Origin
    body: bytes


class ResponseCache:
    """A store, and the recently used entries in memory; an async context manager.

    Entries of a file are looked up in the event loop itself: that takes ten microseconds, where a thread's turn takes a
    hundred, and never waits, since readers of a SQLite database in WAL mode need no lock. All else happens in threads.

    Args:
        location: a file or a database URL.
        memory: bytes of responses kept in memory.
    """

    def __init__(self, location: str, memory: int) -> None:
        self._location = location
        self._recent = Recent(memory)
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
        """The answer for this key and origin if it is in memory."""
        return self._recent.get(_slot(key, origin))

    async def find(self, keys: Sequence[str], origin: Origin) -> CachedResponse | None:
        """The stored answer under the first of these keys, or imported under one of the others.

        Raises:
            DataError: the database cannot be read.
        """
        if self._file is not None:
            # If it is locked or damaged, the thread waits, or says so.
            with contextlib.suppress(sqlite3.Error):
                return self._look_up(self._file, keys, origin)
        entry = best(await asyncio.to_thread(self._store.find, keys), keys[0], origin)
        return None if entry is None else self._remember(keys[0], origin, entry.body.encode("ascii"), entry.origin)

    async def add(self, entry: Entry, asked: Origin | None = None, *, replace: bool = False) -> CachedResponse:
        """Keep this entry and return the kept answer, which is another process's if that was first.

        Args:
            asked: the origin that was asked for, where another one has answered.
            replace: whether it takes the place of one that is there.

        Raises:
            DataError: the database cannot be written.
        """
        keep = partial(self._store.keep, entry, replace=replace)
        body = await asyncio.get_running_loop().run_in_executor(self._writer, keep)
        return self._remember(entry.key, asked or entry.origin, body.encode("ascii"), entry.origin)

    async def check(self) -> None:
        """Check that the database can be read.

        Raises:
            DataError: it cannot.
        """
        await asyncio.to_thread(self._store.find, [""])

    async def examples(self, name: StandardName, origin: Origin, limit: int) -> list[Entry]:
        """Return entries of this Api that may show a simulator of this origin its usual answers."""
        return await asyncio.to_thread(self._store.examples, name, origin, limit)

    async def inputs(self, name: StandardName) -> list[str]:
        """The inputs that have an entry for this Api, as canonical JSON."""
        return await asyncio.to_thread(self._store.inputs, name)

    def _look_up(self, file: sqlite3.Connection, keys: Sequence[str], origin: Origin) -> CachedResponse | None:
        marks = ", ".join("?" * len(keys))
        # Bodies as the bytes that are sent.
        query = f"SELECT key, provenance, revision, CAST(body AS BLOB) FROM {responses.name} WHERE key IN ({marks})"  # noqa: S608 - our own name
        rows = [_Row(key, Origin(*maker), body) for key, *maker, body in file.execute(query, keys)]
        found = best(rows, keys[0], origin)
        return None if found is None else self._remember(keys[0], origin, found.body, found.origin)

    def _remember(self, key: str, asked: Origin, body: bytes, origin: Origin) -> CachedResponse:
        response = CachedResponse(body, origin.provenance)
        self._recent.put(_slot(key, asked), response)
        return response


def _slot(key: str, origin: Origin) -> str:
    # One text instead of a tuple: with many entries every object that a hit looks at is one more cache line.
    return f"{key}{origin.provenance} {origin.revision}"
