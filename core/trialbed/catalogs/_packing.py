"""Packs queries that come from no file of which an index could be kept: those that are not looked at are small."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from trialbed.catalogs._queries import QueryId, StoredQueries
from trialbed.records import Query

FEW = 1_000
"""Queries up to which all stay as they are."""

PART = 32
"""Queries that are packed at once."""

LEVEL = 1
"""zlib's fastest."""


def pack_queries(queries: Iterable[Query]) -> Sequence[Query]:
    """Return queries, which are taken one after the other; of very many, each becomes an object when it is read."""
    left = iter(queries)
    found = tuple(islice(left, FEW + 1))
    if len(found) <= FEW:
        return found
    packed = _PackedQueries()
    for some in (found, left):
        for query in some:
            packed.append(query)
    return packed.queries


class _PackedQueries:
    def __init__(self) -> None:
        self._ids: list[QueryId] = []
        self._expecting: list[int] = []
        self._parts: list[Callable[[], Sequence[Query]]] = []
        self._open: list[Query] = []
        self._last: tuple[int, Sequence[Query]] = (-1, ())

    def append(self, query: Query) -> None:
        if query.expected is not None:
            self._expecting.append(len(self._ids))
        self._ids.append(query.query_id)
        self._open.append(query)
        if len(self._open) >= PART:
            self._parts.append(_pack(self._open))
            self._open = []

    @property
    def queries(self) -> Sequence[Query]:
        return StoredQueries(self._read, self._ids, self._expecting)

    def _read(self, place: int) -> Query:
        part, own = divmod(place, PART)
        if part == len(self._parts):
            return self._open[own]
        known, queries = self._last
        if known != part:
            queries = self._parts[part]()
            self._last = part, queries
        return queries[own]


def _pack(queries: Sequence[Query]) -> Callable[[], Sequence[Query]]:
    """Return a function that gives queries, which holds little of them."""
    try:
        body = zlib.compress(pickle.dumps(queries, pickle.HIGHEST_PROTOCOL), LEVEL)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError):  # a state that Python code made
        return lambda: queries
    return lambda: pickle.loads(zlib.decompress(body))  # noqa: S301 - packed here
