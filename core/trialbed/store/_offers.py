"""The tools that the queries of a run were offered, read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache

from sqlalchemy import Connection

from trialbed.records import ToolSpec
from trialbed.store._rows import IN_ONE
from trialbed.store._runs import read_selections

PARTS = 4
"""Parts that are held at a time: trials on neighbouring queries end at about the same time."""


class StoredOffers(Mapping[int | str, tuple[ToolSpec, ...]]):
    """Query -> its tools, empty where the run did not get to select them; 500 neighbouring queries are read at once.

    Args:
        most: the number of tools of columns that have another than the run.
    """

    def __init__(
        self,
        read: Callable[[], AbstractContextManager[Connection]],
        run_id: str,
        queries: Iterable[int | str],
        most: int | None,
    ) -> None:
        self._read = read
        self._run_id = run_id
        self._most = most
        self._queries: Sequence[int | str] = list(queries)
        self._places = {query_id: place for place, query_id in enumerate(self._queries)}
        self._part = lru_cache(maxsize=PARTS)(self._read_part)

    def __getitem__(self, query_id: int | str) -> tuple[ToolSpec, ...]:
        return self._part(self._places[query_id] // IN_ONE).get(query_id, ())

    def __iter__(self) -> Iterator[int | str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)

    def _read_part(self, number: int) -> Mapping[int | str, tuple[ToolSpec, ...]]:
        own = self._queries[number * IN_ONE : (number + 1) * IN_ONE]
        with self._read() as connection:
            return read_selections(connection, self._run_id, own, self._most)
