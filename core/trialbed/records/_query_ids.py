"""The ids of queries in their order, which take little memory where they are numbers."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import eq
from typing import Any, overload

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

QueryId = int | str

LONG = 1_000
"""Numbers in a row from which on they are written as the first and the last of them: shorter lists are as they were."""


IN_SHORT = {"query_ids": "in short"}
"""The context in which a record is written with ``QueryIds.as_list``."""


class QueryIds(Sequence[QueryId]):
    """Ids of queries, each once; numbers in a row take no memory, and other numbers eight bytes each.

    A field of a record may be given as a list, in which a pair of numbers stands for all from the one to the other.
    """

    def __init__(self, ids: Iterable[QueryId] = ()) -> None:
        self._ids = _compact(ids)

    @overload
    def __getitem__(self, place: int) -> QueryId: ...

    @overload
    def __getitem__(self, place: slice) -> QueryIds: ...

    def __getitem__(self, place: int | slice) -> Any:
        """The id at a place, or those of a part."""
        return QueryIds(self._ids[place]) if isinstance(place, slice) else self._ids[place]

    def __len__(self) -> int:
        """Their number."""
        return len(self._ids)

    def __iter__(self) -> Iterator[QueryId]:
        """Each id."""
        return iter(self._ids)

    def __contains__(self, query_id: object) -> bool:
        """Return whether an id is one of these; 5 and "5" differ."""
        return query_id in self.places

    def __eq__(self, other: object) -> bool:
        """Return whether the other has the same ids in the same order."""
        if isinstance(other, QueryIds):
            return bool(self._ids == other._ids)
        if isinstance(other, list | tuple):
            return len(self) == len(other) and all(map(eq, self, other))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment] # as that of a list

    def __repr__(self) -> str:
        """As it can be made."""
        return f"QueryIds({self._ids!r})"

    @cached_property
    def places(self) -> Mapping[QueryId, int]:
        """The place of each; 5 and "5" differ."""
        if isinstance(self._ids, range):
            return _RowPlaces(self._ids)
        return {query_id: place for place, query_id in enumerate(self._ids)}

    def at(self, places: Iterable[int]) -> QueryIds:
        """Return the ids at some places, in the order of these."""
        return QueryIds(map(self._ids.__getitem__, places))

    def rows(self) -> Iterator[range | QueryId]:
        """Yield two numbers or more in a row, from 0 on, as a range; other ids as they are."""
        if isinstance(self._ids, range) and self._ids.start >= 0:
            yield from _row(self._ids)
            return
        row = range(0)
        for one in self._ids:
            if row and type(one) is int and one == row.stop:
                row = range(row.start, one + 1)
                continue
            yield from _row(row)
            row = range(one, one + 1) if type(one) is int and one >= 0 else range(0)
            if not row:
                yield one
        yield from _row(row)

    @property
    def as_list(self) -> list[Any]:
        """The ids as a field of a record may be given: many numbers in a row are a pair."""
        found: list[Any] = []
        for one in self.rows():
            if not isinstance(one, range):
                found.append(one)
            elif len(one) < LONG:
                found.extend(one)
            else:
                found.append([one[0], one[-1]])
        return found

    @classmethod
    def of_list(cls, given: Iterable[Any]) -> QueryIds:
        """Return the ids of ``as_list``."""
        return cls(chain.from_iterable(map(_spread, given)))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A list of ids and pairs; it is written as the ids, or as ``as_list`` where the context is ``IN_SHORT``."""

        def read(given: Any, validate: Any) -> QueryIds:
            if isinstance(given, QueryIds):
                return given
            return cls.of_list(validate(given))

        def write(ids: Sequence[QueryId], info: core_schema.SerializationInfo) -> Sequence[Any]:
            return QueryIds(ids).as_list if info.context is IN_SHORT else tuple(ids)

        written = core_schema.plain_serializer_function_ser_schema(write, info_arg=True)
        listed = handler.generate_schema(tuple[int | str | tuple[int, int], ...])
        return core_schema.no_info_wrap_validator_function(read, listed, serialization=written)


class _RowPlaces(Mapping[QueryId, int]):
    """The places of numbers in a row."""

    def __init__(self, row: range) -> None:
        self._row = row

    def __getitem__(self, query_id: QueryId) -> int:
        if type(query_id) is int and query_id in self._row:
            return query_id - self._row.start
        raise KeyError(query_id)

    def __iter__(self) -> Iterator[QueryId]:
        return iter(self._row)

    def __len__(self) -> int:
        return len(self._row)


def _row(numbers: range) -> Iterator[range | QueryId]:
    if len(numbers) > 1:
        yield numbers
    else:
        yield from numbers


def _spread(given: Any) -> Iterable[Any]:
    return range(given[0], given[1] + 1) if isinstance(given, list | tuple) else (given,)


def _compact(ids: Iterable[QueryId]) -> Sequence[QueryId]:
    """Return ids as a range, else as numbers of eight bytes, else as they are."""
    if isinstance(ids, QueryIds):
        return ids._ids
    left, numbers = iter(ids), array("q")
    for one in left:
        if type(one) is not int or not -(2**63) <= one < 2**63:
            return (*numbers, one, *left)
        numbers.append(one)
    row = range(numbers[0], numbers[0] + len(numbers)) if numbers else range(0)
    return row if all(map(eq, row, numbers)) else numbers
