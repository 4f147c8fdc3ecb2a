"""Standardised names, as StableToolBench spells them, and the cache keys that are made of them.

Requests and cache folders name an Api in several spellings; the standardised triple is what they have in
common, and what cache keys are made of. No name ever becomes a path.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from trialbed.answers import change_name, standardize

_SEPARATORS = str.maketrans(" ,/", "___")


class StandardName(NamedTuple):
    """The standardised triple of an Api."""

    category: str
    tool: str
    api: str


def standard_category(category: str) -> str:
    """Spaces, commas and slashes as ``_``; two of them as one, in one pass."""
    return category.translate(_SEPARATORS).replace("__", "_")


@lru_cache(maxsize=4096)
def documented_name(category: str, tool_name: str, api_name: str) -> StandardName:
    """Return the triple of a documented Api; its names have no endings to cut."""
    return StandardName(standard_category(category), standardize(tool_name), change_name(standardize(api_name)))


@lru_cache(maxsize=4096)
def requested_name(category: str, tool_name: str, api_name: str) -> StandardName:
    """Return the triple meant by a request; clients may say ``{api}_for_{tool}`` and ``{tool}_for_{category}``.

    Such an ending is cut if something is left before it. Nothing in the middle of a name is cut: ``Jobs for IT`` stays
    whole.
    """
    short_category = standard_category(category)
    tool = _without_ending(tool_name, short_category)
    api = _without_ending(change_name(standardize(api_name)), tool)
    return StandardName(short_category, standardize(tool), api)


def _without_ending(name: str, of: str) -> str:
    ending = f"_for_{of}"
    return name[: -len(ending)] if of and name.endswith(ending) and len(name) > len(ending) else name


_PLAIN = frozenset((str, int, bool, type(None)))

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def canonical_json(value: Any) -> str:
    """Return the one ASCII text of a JSON value, with sorted keys and distinct types.

    ``1``, ``"1"``, ``1.0`` and ``true`` differ.

    Raises:
        ValueError: the value holds a number that is not finite, which is not JSON.
        RecursionError: it is nested too deeply.
    """
    return _encode(value)


def request_key(name: StandardName, tool_input: Any) -> str:
    """SHA-256, in hexadecimal, of the canonical JSON of the triple and the input."""
    value = [*name, tool_input]
    return hashlib.sha256(_plain_json(value) or _encode(value).encode("ascii")).hexdigest()


def _plain_json(value: list[Any]) -> bytes | None:
    """Return the canonical JSON if a faster encoder writes the same; None for other values.

    The encoders differ in floats, in characters beyond ASCII, in the character DEL and in integers beyond 64 bits.
    """
    tool_input = value[-1]
    if type(tool_input) is not dict or not _PLAIN.issuperset(map(type, tool_input.values())):
        return None
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return None
    return text if text.isascii() and b"\x7f" not in text else None


def standard_input(tool_input: Any) -> Any:
    """Return the input with parameters spelled like StableToolBench's caches.

    The input itself is returned if that changes nothing, or if two parameters would get the same name.
    """
    if not isinstance(tool_input, dict):
        return tool_input
    renamed = {change_name(standardize(name)): value for name, value in tool_input.items()}
    return renamed if len(renamed) == len(tool_input) else tool_input


def alias_key(name: StandardName, tool_input: Any) -> str:
    """Return the key of the answer to this input in an imported cache of StableToolBench."""
    return request_key(name, standard_input(tool_input))
