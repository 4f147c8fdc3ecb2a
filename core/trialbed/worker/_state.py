"""The state of a worker that trials share: its modules and their functions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from operator import call, is_
from types import ModuleType

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
    """The state after the adapter was loaded: what its framework changes until then holds for every trial."""

    def __init__(self) -> None:
        self._modules = frozenset(sys.modules)
        self._functions = list(_functions())
        # Taken apart so that the comparison after every trial runs without a loop in Python.
        self._places = [vars(module).get for module, _, _ in self._functions]
        self._names = [name for _, name, _ in self._functions]
        self._values = [function for _, _, function in self._functions]

    def change(self) -> str:
        """What has been removed or replaced since, so that another trial would not find it; empty if nothing."""
        missing = self._modules.difference(sys.modules)
        if missing:
            return f"{len(missing)} imported module(s) were removed, such as {min(missing)}"
        if all(map(is_, map(call, self._places, self._names), self._values)):
            return ""
        for module, name, function in self._functions:
            if vars(module).get(name) is not function:
                return f"{module.__name__}.{name} was replaced"
        return ""


def _functions() -> Iterator[tuple[ModuleType, str, object]]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in WATCHED and isinstance(module, ModuleType):
            yield from ((module, key, value) for key, value in list(vars(module).items()) if callable(value))
