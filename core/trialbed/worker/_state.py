"""The state of a worker that trials share: its modules and their functions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from operator import is_
from types import ModuleType
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


WATCHED = (
    "asyncio",
    "builtins",
    "concurrent",
    "http",
    "httpcore",
    "httpx",
    "io",
    "json",
    "os",
    "pydantic",
    "random",
    "selectors",
    "signal",
    "socket",
    "ssl",
    "subprocess",
    "threading",
    "time",
    "trialbed",
)
"""Packages that every trial relies on; code may change its own and other packages."""


class ProcessState:
    """The state after the adapter was loaded: changes of its framework until then hold for every trial."""

    def __init__(self) -> None:
        self._loaded, self._modules = sys.modules, frozenset(sys.modules)
        self._watched = [_Functions(module) for module in _watched_modules()]
        # To compare every function after every trial would take as long as a tenth of a short one.
        self._counters = DictVersions([self._loaded, *(vars(functions.module) for functions in self._watched)])
        self._unchanged = self._counters.read()

    def change(self) -> str:
        """Name the first part that was removed or replaced since and that another trial would miss; empty if none."""
        versions = self._counters.read()
        if versions is not None and versions == self._unchanged and sys.modules is self._loaded:
            return ""
        missing = self._modules.difference(sys.modules)
        if missing:
            return f"{len(missing)} imported module(s) were removed, such as {min(missing)}"
        for functions in self._watched:
            if name := functions.first_replaced():
                return f"{functions.module.__name__}.{name} was replaced"
        self._unchanged = versions
        return ""


class _Functions:
    """The functions of a module, and its classes."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        functions = {name: value for name, value in list(vars(module).items()) if callable(value)}
        self._names, self._functions = list(functions), list(functions.values())

    def first_replaced(self) -> str:
        """Name the first that is another one now; empty if there is none."""
        get = vars(self.module).get
        # Without a loop in Python.
        if all(map(is_, map(get, self._names), self._functions)):
            return ""
        pairs = zip(self._names, self._functions, strict=True)
        return next((name for name, function in pairs if get(name) is not function), "")


def _watched_modules() -> list[ModuleType]:
    return [
        module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in WATCHED and isinstance(module, ModuleType)
    ]
