"""The state of a worker that trials share: its modules and their functions."""

from __future__ import annotations

import sys
from operator import is_
from types import ModuleType

from trialbed.worker._versions import DictVersions

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
            if name := functions.replaced():
                return f"{functions.module.__name__}.{name} was replaced"
        self._unchanged = versions
        return ""


class _Functions:
    """The functions of a module, and its classes."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        functions = {name: value for name, value in list(vars(module).items()) if callable(value)}
        self._names, self._functions = list(functions), list(functions.values())

    def replaced(self) -> str:
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
