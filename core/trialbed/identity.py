"""Results cached by the identity of objects, and the source of objects, for noticing changes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from threading import Lock
from types import CodeType
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

Args = ParamSpec("Args")
Result = TypeVar("Result")


def once_for(most: int) -> Callable[[Callable[Args, Result]], Callable[Args, Result]]:
    """Cache the last results of a function by the identity of its arguments, which must not change.

    Two calls are the same if all arguments are the same objects, which are kept alive as long as the result is. Both
    get one result, which must be immutable.

    Args:
        most: results that are kept.
    """

    def decorate(function: Callable[Args, Result]) -> Callable[Args, Result]:
        # By their numbers, which are nobody else's as long as the objects are kept beside the result: objects that
        # compare in Python would take longer than many of the functions.
        kept: dict[tuple[int, ...], tuple[object, Result]] = {}
        changing = Lock()

        @wraps(function)
        def call(*things: Args.args, **named: Args.kwargs) -> Result:
            if named:
                return function(*things, **named)
            key = tuple(map(id, things))
            found = kept.get(key)
            if found is None:
                found = things, function(*things, **named)
                with changing:
                    while len(kept) >= most:
                        del kept[next(iter(kept))]
                    kept[key] = found
            return found[1]

        return call

    return decorate


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
