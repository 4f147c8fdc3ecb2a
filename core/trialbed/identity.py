"""Results cached by the identity of objects, if comparing or hashing their contents takes too long."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import ParamSpec, TypeVar

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
