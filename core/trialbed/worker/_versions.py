"""Detects changes of dictionaries by their versions, without comparing their contents."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

Versions = list[int]


class DictVersions:
    """Reads the version that CPython gives a dictionary with each change (PEP 509).

    It is a field of the object that Python code cannot see. CPython up to 3.13 has it; where it does not behave as it
    should, there are no versions, and every dictionary has to be taken for one that changed.

    Args:
        dicts: those to watch; they must outlive this object.
    """

    def __init__(self, dicts: Sequence[dict[str, Any]]) -> None:
        self._fields = [_field(each) for each in dicts] if _are_kept() else None

    def read(self) -> Versions | None:
        """The versions of all dictionaries now, in their order; None where there are none."""
        return None if self._fields is None else [field.value for field in self._fields]


def _field(dictionary: dict[str, Any]) -> Any:
    """The version: 64 bits behind what every object has, and the number of items."""
    import ctypes

    return ctypes.c_uint64.from_address(id(dictionary) + object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t))


def _are_kept() -> bool:
    """Return whether the field is there and changes with the dictionary, and only then."""
    if sys.implementation.name != "cpython":
        return False
    tried: dict[str, Any] = {"name": None, "other": None}
    try:
        field = _field(tried)
    except (ImportError, MemoryError, OSError):  # ctypes needs a library, and memory that can be executed
        return False
    versions = [field.value]
    for _ in range(2):
        tried["name"] = object()
        versions.append(field.value)
    del tried["other"]
    versions.append(field.value)
    tried.get("name")
    return len(set(versions)) == len(versions) and bool(field.value == versions[-1])
