"""Sequences and mappings that are made when they are first looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)


class LateSequence(Sequence[V_co]):
    """A sequence that is made when it is first looked at."""

    def __init__(self, make: Callable[[], Sequence[V_co]]) -> None:
        self._made = cache(make)

    @overload
    def __getitem__(self, place: int) -> V_co: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[V_co]: ...

    def __getitem__(self, place: Any) -> Any:
        """As that of the sequence."""
        return self._made()[place]

    def __iter__(self) -> Iterator[V_co]:
        """As that of the sequence."""
        return iter(self._made())

    def __len__(self) -> int:
        """As that of the sequence."""
        return len(self._made())


class LateMapping(Mapping[K, V]):
    """A mapping that is made when it is first looked at."""

    def __init__(self, make: Callable[[], Mapping[K, V]]) -> None:
        self._made = cache(make)

    def __getitem__(self, key: K) -> V:
        """As that of the mapping."""
        return self._made()[key]

    def __iter__(self) -> Iterator[K]:
        """As that of the mapping."""
        return iter(self._made())

    def __len__(self) -> int:
        """As that of the mapping."""
        return len(self._made())
