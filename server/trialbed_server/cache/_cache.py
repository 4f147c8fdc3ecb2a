"""The response cache as the server uses it: never blocks the event loop, and hits need no thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

from trialbed_server.cache._direct import DirectReader
from trialbed_server.cache._entries import Entry, Origin, best
from trialbed_server.cache._store import ResponseStore
from trialbed_server.standard_names import StandardName

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
