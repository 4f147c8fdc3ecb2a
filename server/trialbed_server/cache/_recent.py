"""The recently used responses, in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")

OVERHEAD = 400
"""Bytes an item costs in addition to its own size: key, objects, table. An estimate."""


class Recent(Generic[Value]):
    """Keeps items used recently, up to a number of bytes. Not for several threads.

    Two generations stand for an order of use: an item that is used again moves to the young one; when that has
    grown to half of the capacity it becomes the old one, and entries not used since the last time go. So the
    usual hit is one look into one dict and changes nothing.

    Args:
        capacity: in bytes.
        sizeof: the size of a value in bytes.
    """

    def __init__(self, capacity: int, sizeof: Callable[[Value], int]) -> None:
        self._half = capacity // 2
        self._sizeof = sizeof
        self._size = 0
        self._young: dict[str, Value] = {}
        self._old: dict[str, Value] = {}

    def get(self, key: str) -> Value | None:
        """The item of this key."""
        found = self._young.get(key)
        if found is not None:
            return found
        found = self._old.pop(key, None)
        if found is not None:
            self.put(key, found)
        return found

    def put(self, key: str, value: Value) -> None:
        """Keep this item; items not used for long make room for it."""
        replaced = self._young.get(key)
        if replaced is not None:
            self._size -= self._sizeof(replaced) + OVERHEAD
        size = self._sizeof(value) + OVERHEAD
        self._size += size
        self._young[key] = value
        if self._size > self._half:
            self._old, self._young, self._size = self._young, {}, 0
            if size > self._half:
                del self._old[key]
