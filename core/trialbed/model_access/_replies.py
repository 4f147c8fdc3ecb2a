"""Reads replies of models that were asked for an object."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from trialbed.texts import json_values, without_thoughts

_OPENING = re.compile("{")
_DECODER = json.JSONDecoder(strict=False)


class Unreadable(ValueError):
    """A reply in another form than was asked for; says why."""


class FoundObject(NamedTuple):
    """An object in a reply, and the words around it."""

    value: dict[str, Any]
    around: str


def read_object(reply: str, *keys: str) -> FoundObject:
    """Return the one JSON object with these keys in a reply, alone, in a code fence, or among words.

    Text between the thinking tags of a reasoning model is left out. Objects that are equal count as one.

    Raises:
        Unreadable: there is no such object, or there are several that differ.
    """
    text = without_thoughts(reply)
    found: list[dict[str, Any]] = []
    around: list[str] = []
    last = 0
    for start, end, value in json_values(text, _OPENING, _DECODER):
        if all(key in value for key in keys):
            found.append(value)
            around.append(text[last:start])
            last = end
    if not found:
        raise Unreadable(f"it has no JSON object with {' and '.join(keys)}" if keys else "it has no JSON object")
    if any(value != found[0] for value in found):
        raise Unreadable(f"it has {len(found)} JSON objects, which differ")
    return FoundObject(found[0], " ".join([*around, text[last:]]))
