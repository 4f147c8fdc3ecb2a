"""The models that a request names, and the model's own name in place of the one that the framework was given."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from trialbed.texts import json_leaves

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()

ALTERNATIVES = frozenset({"models", "fallbacks"})
"""Fields in which proxies take models that they ask in place of the first."""


class _Member(NamedTuple):
    """A member of the outermost object of a body, and the place of its value."""

    name: str
    value: Any
    start: int
    end: int


def foreign_model(body: bytes, allowed: Collection[str]) -> str | None:
    """Return the first model that a request names and that is not allowed; None if there is none.

    Every spelling counts that some server reads: a field that stands twice, one in other letters (Go's reader of JSON
    takes ``Model``, too), and lists of models to fall back on.

    Raises:
        ValueError: the body is not a JSON object in UTF-8, so an endpoint may read in it what cannot be seen here.
    """
    try:
        found = list(_members(body.decode()))
    except (IndexError, RecursionError) as error:
        raise ValueError(f"it cannot be read: {error}") from None
    for member in found:
        name = member.name.casefold()
        if name == "model" and not (isinstance(member.value, str) and member.value in allowed):
            return member.value if isinstance(member.value, str) else json.dumps(member.value)
        if name in ALTERNATIVES:
            for model in json_leaves(member.value):
                if isinstance(model, str) and model not in allowed:
                    return model
    return None


def with_model(body: bytes, given: str, own: str) -> bytes:
    """The request with the model's own name where it bears the one that was given; all other bytes stay.

    A request that names another model, or none, or that cannot be read is left as it is.
    """
    if given == own:
        return body
    try:
        text = body.decode()
        places = [member for member in _members(text) if member.name == "model" and member.value == given]
    except (ValueError, RecursionError, IndexError):
        return body
    for member in reversed(places):
        text = f"{text[: member.start]}{json.dumps(own)}{text[member.end :]}"
    return text.encode()


def _members(text: str) -> Iterator[_Member]:
    """Yield the members of the JSON object that a text is.

    Raises:
        ValueError, IndexError: it is not one.
    """
    place = _after_space(text, 0)
    if text[place] != "{":
        raise ValueError("it is not a JSON object")
    place = _after_space(text, place + 1)
    while text[place] != "}":
        if text[place] != '"':
            raise ValueError("the name of a field is not a text")
        name, place = _DECODER.raw_decode(text, place)
        start = _expect(text, place, ":")
        value, place = _DECODER.raw_decode(text, start)
        yield _Member(name, value, start, place)
        place = _after_space(text, place)
        if text[place] != "}":
            place = _expect(text, place, ",")
    if _after_space(text, place + 1) < len(text):
        raise ValueError("there is more after the JSON object")


def _expect(text: str, place: int, mark: str) -> int:
    """Return the place after a mark and the space around it."""
    place = _after_space(text, place)
    if text[place] != mark:
        raise ValueError(f"{mark!r} is missing")
    return _after_space(text, place + 1)


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place
