"""The server's view of the response cache; hits need no thread, and nothing else blocks the event loop."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import NamedTuple, Self

from trialbed_server.response_store import Entry, Origin, ResponseStore, StoredBody, best, responses
from trialbed_server.standard_names import StandardName

OVERHEAD = 400
"""Bytes per item in addition to its own size, for key, objects and table. An estimate."""


class CachedResponse(NamedTuple):
    """A stored answer, ready to send, and how it was made."""

    body: bytes
    provenance: str


class ResponseCache:
    """A store with its recently used entries in memory; an async context manager.

    Entries of a file are looked up in the event loop itself. That takes ten microseconds, ten times less than a
    thread's turn, and never waits: readers of a SQLite database in WAL mode need no lock. All other work happens in
    threads.

    Args:
        location: a file or a database URL.
        memory: bytes of responses kept in memory.
    """

    def __init__(self, location: str, memory: int) -> None:
        self._location = location
        self._room = memory
        # In the order of use.
        self._recent: dict[str, CachedResponse] = {}
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
        """Return the answer for this key and origin if it is in memory."""
        slot = _slot(key, origin)
        found = self._recent.pop(slot, None)
        if found is not None:
            self._recent[slot] = found
        return found

    async def find(self, keys: Sequence[str], origin: Origin) -> CachedResponse | None:
        """Return the stored answer under the first of these keys, or an imported answer under another one.

        Raises:
            DataError: the database cannot be read.
        """
        try:
            rows = _look_up(self._file, keys)
        except sqlite3.Error:
            # If it is locked or damaged, the thread waits, or says so.
            rows = await asyncio.to_thread(self._store.find, keys)
        found = best(rows, keys[0], origin)
        return None if found is None else self._remember(keys[0], origin, found.body, found.origin)

    async def add(self, entry: Entry, asked: Origin | None = None) -> CachedResponse:
        """Keep this entry and return the kept answer, which is another process's if that was first.

        Args:
            asked: the requested origin, if another one has answered.

        Raises:
            DataError: the database cannot be written.
        """
        body = await asyncio.get_running_loop().run_in_executor(self._writer, self._store.keep, entry)
        return self._remember(entry.key, asked or entry.origin, body.encode("ascii"), entry.origin)

    async def examples(self, name: StandardName, origin: Origin, limit: int) -> list[tuple[str, str]]:
        """Return inputs and answers of this Api that may show a simulator of this origin its usual answers."""
        return await asyncio.to_thread(self._store.examples, name, origin, limit)

    async def inputs(self, name: StandardName) -> list[str]:
        """Return the inputs that have an entry for this Api, as canonical JSON."""
        return await asyncio.to_thread(self._store.inputs, name)

    def _remember(self, key: str, asked: Origin, body: bytes, origin: Origin) -> CachedResponse:
        """Keep a response in memory; those not used for long make room for it."""
        slot, response = _slot(key, asked), CachedResponse(body, origin.provenance)
        replaced = self._recent.pop(slot, None)
        self._recent[slot] = response
        self._room -= _size(response) - (0 if replaced is None else _size(replaced))
        while self._room < 0 and self._recent:
            self._room += _size(self._recent.pop(next(iter(self._recent))))
        return response


def _look_up(file: sqlite3.Connection | None, keys: Sequence[str]) -> list[StoredBody]:
    """Return the entries under these keys.

    Raises:
        sqlite3.Error: there is no file, or it cannot be read now.
    """
    if file is None:
        raise sqlite3.Error
    marks = ", ".join("?" * len(keys))
    # Bodies as the bytes that are sent.
    query = f"SELECT key, provenance, revision, CAST(body AS BLOB) FROM {responses.name} WHERE key IN ({marks})"  # noqa: S608 - our own name
    return [StoredBody(key, Origin(*maker), body) for key, *maker, body in file.execute(query, keys)]


def _size(response: CachedResponse) -> int:
    return len(response.body) + OVERHEAD


def _slot(key: str, origin: Origin) -> str:
    # One text instead of a tuple: with many entries every object that a hit looks at is one more cache line.
    return f"{key}{origin.provenance} {origin.revision}"
