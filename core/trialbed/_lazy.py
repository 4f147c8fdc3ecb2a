"""Packages whose public names are loaded when they are first used, so that to import one costs next to nothing.

Such a package also imports its names under ``TYPE_CHECKING``, for type checkers and editors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def names(package: str, homes: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and the ``__dir__`` of a package (PEP 562).

    Args:
        homes: module or package in it -> the names that come from there.
    """
    home_of = {name: home for home, found in homes.items() for name in found}

    def load(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home}"), name)

    def listed() -> list[str]:
        return sorted(home_of)

    return load, listed
