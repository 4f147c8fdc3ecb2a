"""Results that are kept for objects as such, where comparing or hashing their contents takes too long."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial, wraps
from typing import Any, ParamSpec, TypeVar

Args = ParamSpec("Args")
Result = TypeVar("Result")


def once_for(most: int) -> Callable[[Callable[Args, Result]], Callable[Args, Result]]:
    """Keep the results of a function for the last objects that it was called with, which nobody changes.

    Two calls are the same if all arguments are the same objects, which are kept alive as long as the result is. Both
    get one result, so it must be such that nobody can change it.

    Args:
        most: results that are kept.
    """

    def decorate(function: Callable[Args, Result]) -> Callable[Args, Result]:
        kept = lru_cache(maxsize=most)(partial(_apply, function))

        @wraps(function)
        def call(*things: Args.args, **named: Args.kwargs) -> Result:
            return function(*things, **named) if named else kept(*map(_Same, things))

        return call

    return decorate


def _apply(function: Callable[..., Result], *given: _Same) -> Result:
    return function(*(one.thing for one in given))


class _Same:
    """Equal to another where both stand for one object."""

    __slots__ = ("thing",)

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.thing is other.thing

    def __hash__(self) -> int:
        return id(self.thing)
