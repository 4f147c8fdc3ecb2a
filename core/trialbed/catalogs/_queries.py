"""Queries that are read when they are looked at, so that a dataset of very many need not be kept in memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, overload

from trialbed.records import Query

QueryId = int | str

AT_HAND = 512
"""Queries that stay in memory after they were looked at one by one."""


class StoredQueries(Sequence[Query]):
    """Queries of a dataset, or some of them.

    Args:
        read: reads the one at a place of the dataset.
        ids: those of all queries of the dataset.
        expecting: the places of those that expect more than calls, facts and a state.
        places: of those that these are, in order; None for all.
    """

    def __init__(
        self,
        read: Callable[[int], Query],
        ids: Sequence[QueryId],
        expecting: Collection[int] = (),
        places: Sequence[int] | None = None,
    ) -> None:
        self._read = read
        self._every = tuple(ids)
        self._expecting = expecting
        self._places = range(len(self._every)) if places is None else places
        self._at_hand = lru_cache(AT_HAND)(read)

    @property
    def ids(self) -> tuple[QueryId, ...]:
        """The ids, for which no query is read."""
        return tuple(self._every[place] for place in self._places)

    def at(self, places: Iterable[int]) -> StoredQueries:
        """Some of these, by their places among them."""
        return self._of(array("L", (self._places[place] for place in places)))

    def expecting(self) -> Iterator[Query]:
        """Read those that expect more than calls, facts and a state, one after the other."""
        marked = set(self._expecting)
        return iter(self._of([place for place in self._places if place in marked]) if marked else ())

    @overload
    def __getitem__(self, place: int) -> Query: ...

    @overload
    def __getitem__(self, place: slice) -> StoredQueries: ...

    def __getitem__(self, place: int | slice) -> Any:
        """The query at a place, or those of a part."""
        if isinstance(place, slice):
            return self._of(self._places[place])
        return self._at_hand(self._places[place])

    def _of(self, places: Sequence[int]) -> StoredQueries:
        return StoredQueries(self._read, self._every, self._expecting, places)

    def __iter__(self) -> Iterator[Query]:
        """Read one after the other; none of them stays."""
        return map(self._read, self._places)

    def __len__(self) -> int:
        """Their number."""
        return len(self._places)


class _ById(Mapping[QueryId, Query]):
    def __init__(self, queries: StoredQueries) -> None:
        self._queries = queries
        self._places = {query_id: place for place, query_id in enumerate(queries.ids)}

    def __getitem__(self, query_id: QueryId) -> Query:
        return self._queries[self._places[query_id]]

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._places

    def __iter__(self) -> Iterator[QueryId]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._queries)


def ids_of(queries: Sequence[Query]) -> tuple[QueryId, ...]:
    """Return the ids of queries; those that are stored are not read for it."""
    return queries.ids if isinstance(queries, StoredQueries) else tuple(query.query_id for query in queries)


def pick_queries(queries: Sequence[Query], places: Iterable[int]) -> Sequence[Query]:
    """Return the queries at some places, in that order; those that are stored are not read for it."""
    if isinstance(queries, StoredQueries):
        return queries.at(places)
    return tuple(queries[place] for place in places)


def expecting_queries(queries: Sequence[Query]) -> Iterator[Query]:
    """Yield the queries that expect more than calls, facts and a state; no others are read of those that are stored."""
    if isinstance(queries, StoredQueries):
        return queries.expecting()
    return (query for query in queries if query.expected is not None)


def queries_by_id(queries: Sequence[Query], ids: Iterable[QueryId] | None = None) -> Mapping[QueryId, Query]:
    """Return queries under their ids; those that are stored are read when they are looked at.

    Args:
        ids: of those that are meant, in order; None for all.

    Raises:
        KeyError: an id is of none of them.
    """
    known = ids_of(queries)
    if ids is not None and (wanted := tuple(ids)) != known:
        places = {query_id: place for place, query_id in enumerate(known)}
        queries = pick_queries(queries, [places[query_id] for query_id in wanted])
    if isinstance(queries, StoredQueries):
        return _ById(queries)
    return {query.query_id: query for query in queries}
