"""Expected arguments that accept more than one value, as JSON objects with a key that begins with ``$``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trialbed.suggestions import closest, did_you_mean
from trialbed.tool_calls._rules import is_number, matches_whole

if TYPE_CHECKING:
    from trialbed.records import Json

MATCHERS: Mapping[str, tuple[str, ...]] = {
    "$any": ("example", "check", "accepted"),
    "$about": ("within",),
    "$one_of": (),
    "$matches": ("example",),
    "$unordered": (),
    "$optional": (),
}
"""Key of a matcher -> its other keys."""


class Accepted(list["Json"]):
    """The values that a function in expected arguments accepts."""


DROPPED = object()
"""Stands for an argument that has no example."""


def about(value: float, within: float) -> dict[str, Json]:
    """Expect a number that differs from this one by no more than ``within``: ``call("pay", amount=about(12.5, 0.1))``.

    Like all matchers, it can stand anywhere in the arguments of ``call``, and in files as JSON: ``{$about: 12.5,
    within: 0.1}``.
    """
    return {"$about": value, "within": within}


def any_value(example: Json = None) -> dict[str, Json]:
    """Expect the argument, with any value; Python's ``any`` means the same. In files ``{$any: }``.

    Args:
        example: the value that scripted models send; None for any value that the tool's schema allows.
    """
    return {"$any": None, "example": example}


def one_of(*values: Json) -> dict[str, Json]:
    """Expect any of several values; scripted models send the first. In files ``{$one_of: [a, b]}``."""
    return {"$one_of": list(values)}


def regex(pattern: str, example: str) -> dict[str, Json]:
    """Expect a text that matches a regular expression as a whole; in files ``{$matches: PATTERN, example: TEXT}``.

    Args:
        example: a text that matches, which scripted models send.
    """
    return {"$matches": pattern, "example": example}


def unordered(values: list[Json]) -> dict[str, Json]:
    """Expect these values in any order; in files ``{$unordered: [a, b]}``."""
    return {"$unordered": list(values)}


def optional(value: Json) -> dict[str, Json]:
    """Expect this value if the key is there, which need not be; in files ``{$optional: value}``."""
    return {"$optional": value}


def matcher_of(wanted: Any) -> str:
    """Return the key of a matcher; empty if a value is not one."""
    if not isinstance(wanted, Mapping):
        return ""
    return next((key for key, others in MATCHERS.items() if key in wanted and not wanted.keys() - {key, *others}), "")


def matcher_problem(wanted: Json, schema: str = "") -> str:
    """Return the fault of a matcher; empty if it is right, or if the value is not one.

    Args:
        schema: JSON of the tool's; its properties are not misspelled matchers.
    """
    kind = matcher_of(wanted)
    for key in wanted if not kind else ():
        # Some operators of MongoDB are like them.
        is_like = key.startswith("$") and key not in ("$and", "$match", "$options")
        close = closest(key, MATCHERS) if is_like else None
        if close and f'"{key}": ' not in schema:
            right = ", ".join((close, *MATCHERS[close]))
            return f"{', '.join(wanted)}: these are not the keys of a matcher{did_you_mean(right)}"
    inner = wanted.get(kind)
    if kind == "$about":
        numbers = inner, wanted.get("within")
        if not all(is_number(one) and math.isfinite(one) for one in numbers) or wanted["within"] < 0:
            return "$about takes a number, and the largest difference from it as 'within'"
    if kind in ("$one_of", "$unordered") and not (isinstance(inner, list) and inner):
        return f"{kind} takes a list of values"
    if kind == "$matches":
        example = wanted.get("example")
        if not isinstance(inner, str) or not isinstance(example, str) or not matches_whole(inner, example):
            return "$matches takes a pattern, and as 'example' a text that matches it as a whole"
    return ""


def example_of(wanted: Json) -> Json:
    """Return a value that meets an expected one; ``DROPPED`` for a matcher without an example."""
    kind = matcher_of(wanted)
    if kind in ("$any", "$matches"):
        return DROPPED if wanted.get("example") is None else wanted["example"]
    if kind == "$one_of":
        return example_of(wanted[kind][0])
    if kind:
        return example_of(wanted[kind])
    if isinstance(wanted, Mapping):
        found = {name: example_of(value) for name, value in wanted.items()}
        return {name: value for name, value in found.items() if value is not DROPPED}
    if isinstance(wanted, list | tuple):
        return [value for value in map(example_of, wanted) if value is not DROPPED]
    return wanted


def examples_of(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return the expected arguments of a call with values that meet them; arguments without an example are excluded."""
    found = {name: example_of(value) for name, value in arguments.items()}
    return {name: value for name, value in found.items() if value is not DROPPED}


def named_checks(wanted: Json) -> Iterator[str]:
    """Yield the names of the functions that check values in expected arguments."""
    if isinstance(wanted, Mapping):
        if matcher_of(wanted) == "$any" and "check" in wanted:
            yield wanted["check"]
        wanted = list(wanted.values())
    for value in wanted if isinstance(wanted, list | tuple) else ():
        yield from named_checks(value)


def with_accepted(wanted: Json, accepted: Mapping[str, list[Json]]) -> Json:
    """Return an expected value with the values that its functions accept.

    Args:
        accepted: name of a function -> the values.
    """
    if isinstance(wanted, Mapping):
        if matcher_of(wanted) == "$any" and wanted.get("check") in accepted:
            return {**wanted, "accepted": accepted[wanted["check"]]}
        return {name: with_accepted(value, accepted) for name, value in wanted.items()}
    return [with_accepted(value, accepted) for value in wanted] if isinstance(wanted, list | tuple) else wanted
