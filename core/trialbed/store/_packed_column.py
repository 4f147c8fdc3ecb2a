"""A column of numbers that is filled one by one, of which little is in memory while nobody looks at it."""

from __future__ import annotations

import sys
import zlib
from array import array
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any

from trialbed.spool import Spool, SpooledParts

PART = 4_096
"""Values that are packed at once."""

LEVEL = 1
"""zlib's fastest: most columns are the same few numbers again and again."""


class PackedColumn:
    """A column of numbers.

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

    @classmethod
    def of(cls, column: array[Any]) -> PackedColumn:
        """Return the column of an array's values."""
        made = cls(column.typecode)
        for begin in range(0, len(column), PART):
            made._open = column[begin : begin + PART]
            made._pack()
        return made

    @classmethod
    def read(cls, kind: str, parts: Sequence[str], spool: Spool | None = None) -> PackedColumn:
        """Return the column of ``texts``, to which nothing is added."""
        made = cls(kind, spool=spool)
        for part in parts:
            made._parts.append(b64decode(part))
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

    def put(self, place: int, value: float) -> None:
        """Add the value of a place, if no value of it or of a later one was; those between have the usual value."""
        if place >= self._packed + len(self._open):
            self.fill(place)
            self.append(value)

    def fill(self, count: int) -> None:
        """Give all places below ``count`` that have no value the usual one."""
        while (missing := count - self._packed - len(self._open)) > 0:
            self._open.extend([self._usual] * min(missing, PART - len(self._open)))
            if len(self._open) >= PART:
                self._pack()

    def array(self) -> array[Any]:
        """Return all values."""
        found = array(self._kind)
        for part in self._parts:
            found.frombytes(zlib.decompress(part))
        return _little_endian(found) + self._open

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
