"""Results that are kept for objects as such, where comparing or hashing their contents takes too long."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import ParamSpec, TypeVar

Args = ParamSpec("Args")
Result = TypeVar("Result")


def once_for(most: int) -> Callable[[Callable[Args, Result]], Callable[Args, Result]]:
    """Keep the last results of a function for the objects that it was called with, which nobody changes.

    Two calls are the same if all arguments are the same objects, which are kept alive as long as the result is. Both
    get one result, so it must be such that nobody can change it.

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
