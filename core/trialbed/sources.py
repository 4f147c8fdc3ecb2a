"""The source of objects, by which a change of one is noticed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

KEPT = "__trialbed_kept__"
"""The attribute of a function in which results made of it are kept."""


def source_of(thing: Any) -> str:
    """Return the source of a function, a class, or an object's class; its name where there is none."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    if not inspect.isfunction(named):
        return _source_of(named)
    # The first one: later, other lines may stand in the place of a function.
    source: str = kept_with(named, "source", (named.__code__,), _source_of)
    return source


class _KeptResults(dict[str, Any]):
    """Results made of a function; programs that copy the function into another process leave it out."""

    def __reduce__(self) -> tuple[type[_KeptResults], tuple[()]]:
        return _KeptResults, ()


def kept_with(function: Any, name: str, made_of: tuple[Any, ...], make: Callable[[Any], Any]) -> Any:
    """Return a result made of a function, which keeps it until it changes, so that both end together.

    Args:
        name: of the result.
        made_of: the parts of the function that the result depends on.
    """
    kept = vars(function).get(KEPT, {})
    of_function, before, made = kept.get(name, (None, (), None))
    # Wrappers may have a copy of the attributes of the function that they wrap.
    if of_function is not function or not _are_same(before, made_of):
        made = make(function)
        vars(function)[KEPT] = _KeptResults({**kept, name: (function, made_of, made)})
    return made


def _are_same(before: Any, now: Any) -> bool:
    """Return whether these are the same objects: equal ones, as 1 and True, may differ, and some cannot be compared."""
    if isinstance(now, dict) and isinstance(before, dict):
        return list(before) == list(now) and all(before[key] is now[key] for key in now)
    if isinstance(now, tuple) and isinstance(before, tuple):
        return len(before) == len(now) and all(map(_are_same, before, now))
    return before is now


def _source_of(named: Any) -> str:
    try:
        return inspect.getsource(named)
    except (OSError, TypeError):
        code = getattr(named, "__code__", None)
        text = f"{named.__module__}.{named.__qualname__}"
        return text if code is None else f"{text} {code.co_code.hex()} {code.co_consts!r}"
