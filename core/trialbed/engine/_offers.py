"""The tools of a run for each query, chosen and read for a part of the queries at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from trialbed.records import ToolSpec

QueryId = int | str


OfferedTools = Callable[[int, QueryId], Awaitable[tuple[ToolSpec, ...]]]
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

KEPT = 4
"""Parts that stay; the one that was read first goes."""


class RunTools:
    """The tools of a run, in parts that are read when a trial of their queries begins.

    Args:
        choose: blocks; it is called in a thread, once at a time, and no more once it has failed.
        query_ids: in the order in which trials begin.
    """

    def __init__(self, choose: ChoosePart, query_ids: Iterable[QueryId]) -> None:
        self._choose = choose
        self._ids = tuple(query_ids)
        self._part_of = {query_id: place // AT_ONCE for place, query_id in enumerate(self._ids)}
        self._parts: dict[int, Part] = {}
        self._reading = asyncio.Lock()
        self._failure: Exception | None = None

    async def __call__(self, most: int, query_id: QueryId) -> tuple[ToolSpec, ...]:
        """Return the tools of a query.

        Raises:
            ToolsNotChosen: they are not there, and choosing them failed.
        """
        number = self._part_of[query_id]
        async with self._reading:
            if self._failure is not None:
                raise ToolsNotChosen(self._failure)
            if number not in self._parts:
                own = self._ids[number * AT_ONCE : (number + 1) * AT_ONCE]
                try:
                    self._parts[number] = await asyncio.to_thread(self._choose, own)
                except Exception as error:
                    self._failure = error
                    raise ToolsNotChosen(error) from error
                for old in [*self._parts][:-KEPT]:
                    del self._parts[old]
            return self._parts[number][most][query_id]
