"""The tools of a run for each query, chosen and read for a part of the queries at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

from trialbed.records import ToolSpec

QueryId = int | str


OfferedTools = Callable[[int, QueryId], tuple[ToolSpec, ...]]
"""Returns the tools that a query is offered, of at most this many."""


class ToolsNotChosen(Exception):
    """The tools of a query could not be chosen.

    Attributes:
        reason: the error of the selector, or of the store.
    """

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


Part = dict[int, dict[QueryId, tuple[ToolSpec, ...]]]

ChoosePart = Callable[[Sequence[QueryId]], Part]
"""Returns the tools of queries, of which none are left out: the stored ones, else those that are chosen now."""

AT_ONCE = 500
"""Queries whose tools are chosen and read together, and kept in one transaction."""

KEPT = 2
"""Parts that stay although no trial is about them."""


class RunTools:
    """The tools of a run, in parts that are read when a trial of their queries begins, and let go when all have ended.

    Args:
        choose: blocks; it is called in a thread, once at a time, and no more once it has failed.
        query_ids: in the order in which trials begin.
    """

    def __init__(self, choose: ChoosePart, query_ids: Iterable[QueryId]) -> None:
        self._choose = choose
        self._ids = tuple(query_ids)
        self.part_of = {query_id: place // AT_ONCE for place, query_id in enumerate(self._ids)}
        self._parts: dict[int, Part] = {}
        self._held: Counter[int] = Counter()
        self._reading = asyncio.Lock()
        self._failure: Exception | None = None

    def __call__(self, most: int, query_id: QueryId) -> tuple[ToolSpec, ...]:
        """Return the tools of a query that is held."""
        return self._parts[self.part_of[query_id]][most][query_id]

    @asynccontextmanager
    async def held(self, query_id: QueryId) -> AsyncIterator[None]:
        """Have the tools of a query at hand while the body runs.

        Raises:
            ToolsNotChosen: they are not there, and choosing them failed.
        """
        number = self.part_of[query_id]
        self._held[number] += 1
        try:
            try:
                await self.read(query_id)
            except Exception as error:
                raise ToolsNotChosen(error) from error
            yield
        finally:
            self._held[number] -= 1
            idle = [other for other in self._parts if not self._held[other]]
            for other in idle[:-KEPT]:
                del self._parts[other]

    async def read(self, query_id: QueryId) -> None:
        """Read the part that a query is in, unless it is at hand."""
        number = self.part_of[query_id]
        if number in self._parts:
            return
        async with self._reading:
            if number in self._parts:
                return
            if self._failure is not None:
                raise self._failure
            own = self._ids[number * AT_ONCE : (number + 1) * AT_ONCE]
            try:
                self._parts[number] = await asyncio.to_thread(self._choose, own)
            except Exception as error:
                self._failure = error
                raise
