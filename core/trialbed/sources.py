"""The source of objects, by which a change of one is noticed."""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import Any


def source_of(thing: Any) -> str:
    """Return the source of a function, a class, or an object's class; its name where there is none."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return _source_of_function(named) if inspect.isfunction(named) else _source_of(named)


@lru_cache(maxsize=256)
def _source_of_function(function: Any) -> str:
    """Return what was read when it was first asked for: later, other lines may stand in the place of a function."""
    return _source_of(function)


def _source_of(named: Any) -> str:
    try:
        return inspect.getsource(named)
    except (OSError, TypeError):
        code = getattr(named, "__code__", None)
        text = f"{named.__module__}.{named.__qualname__}"
        return text if code is None else f"{text} {code.co_code.hex()} {code.co_consts!r}"
