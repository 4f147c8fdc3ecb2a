"""The source of objects, for noticing changes."""

from __future__ import annotations

import inspect
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

KNOWN: WeakKeyDictionary[Any, tuple[CodeType, str]] = WeakKeyDictionary()
"""Function -> its code and source, because other lines may later be in the function's place."""


def source_of(thing: Any) -> str:
    """Return the source of a function, a class, or an object's class, or its name without a source."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    if not inspect.isfunction(named):
        return _source_of(named)
    code, source = KNOWN.get(named, (None, ""))
    if code is not named.__code__:
        source = _source_of(named)
        KNOWN[named] = named.__code__, source
    return source


def _source_of(named: Any) -> str:
    try:
        return inspect.getsource(named)
    except (OSError, TypeError):
        code = getattr(named, "__code__", None)
        text = f"{named.__module__}.{named.__qualname__}"
        return text if code is None else f"{text} {code.co_code.hex()} {code.co_consts!r}"
