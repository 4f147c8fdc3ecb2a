"""The recently used responses, in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")

OVERHEAD = 500
"""Bytes an item costs beside its own size: keys, objects, links. An estimate."""


class Recent(Generic[Value]):
    """Keeps the items used last, up to a number of bytes. Not for several threads."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = 0
        self._items: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()

    def get(self, key: Hashable) -> Value | None:
        """The item of this key, which is now the last to go."""
        found = self._items.get(key)
        if found is None:
            return None
        self._items.move_to_end(key)
        return found[0]

    def put(self, key: Hashable, value: Value, size: int) -> None:
        """Keep this item; the ones used longest ago make room for it."""
        self._drop(key)
        self._items[key] = (value, size + OVERHEAD)
        self._size += size + OVERHEAD
        while self._size > self._capacity:
            self._drop(next(iter(self._items)))

    def _drop(self, key: Hashable) -> None:
        _, size = self._items.pop(key, (None, 0))
        self._size -= size
