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

Part = Callable[[int], Query]
"""Reads the query at a place of a part."""


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
        self._parts: list[Callable[[], Part]] = []
        self._open: list[Query] = []
        self._last: tuple[int, Part] | None = None

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
        last = self._last
        if last is None or last[0] != part:
            last = self._last = part, self._parts[part]()
        return last[1](own)


def _pack(queries: Sequence[Query]) -> Callable[[], Part]:
    """Return a function that opens queries, which holds little of them.

    Each is packed for itself within, so that one alone becomes an object where they are read in another order; the
    Apis on offer, of which queries often have the same, stand beside them.
    """
    offers = {_offer(query): query.apis for query in queries}
    places = {offer: place for place, offer in enumerate(offers)}
    try:
        own = [(places[_offer(query)], _dump(query.model_copy(update={"apis": ()}))) for query in queries]
        body = zlib.compress(_dump((tuple(offers.values()), own)), LEVEL)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError):  # a state that Python code made
        return lambda: queries.__getitem__
    return lambda: _open(body)


def _offer(query: Query) -> tuple[int, ...]:
    return tuple(map(id, query.apis))


def _open(body: bytes) -> Part:
    offers, queries = pickle.loads(zlib.decompress(body))  # noqa: S301 - packed here

    def read(place: int) -> Query:
        offer, packed = queries[place]
        query: Query = pickle.loads(packed)  # noqa: S301 - as above
        return query.model_copy(update={"apis": offers[offer]})

    return read


def _dump(content: object) -> bytes:
    return pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
