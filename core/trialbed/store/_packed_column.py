"""A column of numbers that is filled one by one, of which little is in memory while nobody looks at it."""

from __future__ import annotations

import sys
import zlib
from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from trialbed.spool import Spool, SpooledParts

PART = 4_096
"""Values that are packed at once."""

LEVEL = 1
"""zlib's fastest: most columns are the same few numbers again and again."""


class PackedColumn(Sequence[Any]):
    """A column of numbers; once it is looked at, nothing is added to it.

    Args:
        kind: the type of its array, such as ``d``.
        usual: the value of places that are left out.
        spool: in which its parts are; None for one of its own.
    """

    def __init__(self, kind: str, usual: float = 0, spool: Spool | None = None) -> None:
        self._kind = kind
        self._usual = usual
        self._parts = SpooledParts(spool)
        self._packed = 0
        self._open: array[Any] = array(kind)
        self._unpacked: tuple[int, array[Any]] = -1, self._open

    @classmethod
    def of(cls, column: array[Any]) -> PackedColumn:
        """Return the column of an array's values."""
        made = cls(column.typecode)
        made.extend(column)
        return made

    @classmethod
    def read(cls, kind: str, parts: Sequence[str], spool: Spool | None = None) -> PackedColumn:
        """Return the column of ``texts``, to which nothing is added."""
        made = cls(kind, spool=spool)
        for part in parts:
            made._parts.append(b64decode(part))
        if parts:
            made._packed = (len(parts) - 1) * PART + len(made._part(len(parts) - 1))
        return made

    @property
    def texts(self) -> list[str]:
        """Its values as texts, which mean the same on every machine."""
        self._pack()
        return [b64encode(part).decode("ascii") for part in self._parts]

    def append(self, value: float) -> None:
        """Add the value of the next place."""
        self._open.append(value)
        if len(self._open) >= PART:
            self._pack()

    def extend(self, values: Sequence[float] | array[Any]) -> None:
        """Add the values of the next places."""
        begin = 0
        while begin < len(values):
            end = begin + PART - len(self._open)
            self._open.extend(values[begin:end])
            begin = end
            if len(self._open) >= PART:
                self._pack()

    def put(self, place: int, value: float) -> None:
        """Add the value of a place, if no value of it or of a later one was; those between have the usual value."""
        if place >= len(self):
            self.fill(place)
            self.append(value)

    def fill(self, count: int) -> None:
        """Give all places below ``count`` that have no value the usual one."""
        while (missing := count - len(self)) > 0:
            self._open.extend([self._usual] * min(missing, PART - len(self._open)))
            if len(self._open) >= PART:
                self._pack()

    def unpack(self) -> array[Any]:
        """Return all values."""
        found = array(self._kind)
        for part in self.parts():
            found.extend(part)
        return found

    def parts(self) -> Iterator[array[Any]]:
        """Yield all values, so many at once that other columns of as many values have the same parts."""
        yield from map(self._part, range(len(self._parts)))
        yield self._open

    def __len__(self) -> int:
        return self._packed + len(self._open)

    def __getitem__(self, place: Any) -> Any:
        if not 0 <= place < len(self):
            raise IndexError(place)
        number, place = divmod(place, PART)
        if number == len(self._parts):
            return self._open[place]
        if self._unpacked[0] != number:
            self._unpacked = number, self._part(number)
        return self._unpacked[1][place]

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.parts())

    def _part(self, number: int) -> array[Any]:
        found = array(self._kind)
        found.frombytes(zlib.decompress(self._parts[number]))
        return _little_endian(found)

    def _pack(self) -> None:
        if self._open:
            self._parts.append(zlib.compress(_little_endian(self._open).tobytes(), LEVEL))
            self._packed += len(self._open)
            self._open = array(self._kind)


def _little_endian(column: array[Any]) -> array[Any]:
    """Return the column in the byte order of packed parts, or from it: stores move between machines."""
    if sys.byteorder == "little":
        return column
    turned = array(column.typecode, column)
    turned.byteswap()
    return turned
