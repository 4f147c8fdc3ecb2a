"""Makes cache keys: equal for equal calls, whatever the order of their arguments."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import orjson

from trialbed_server.standard_names import StandardName, parameter_name

_PLAIN = frozenset((str, int, bool, type(None)))

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def canonical_json(value: Any) -> str:
    """The one ASCII text of a JSON value: keys sorted, types kept (``1``, ``"1"``, ``1.0`` and ``true`` differ).

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
    """The canonical JSON where a faster encoder writes the same; None for other values.

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
    """The input with parameters spelled as in StableToolBench's caches.

    The input itself where that changes nothing, or where two parameters would meet.
    """
    if not isinstance(tool_input, dict):
        return tool_input
    renamed = {parameter_name(name): value for name, value in tool_input.items()}
    return renamed if len(renamed) == len(tool_input) else tool_input


def alias_key(name: StandardName, tool_input: Any) -> str:
    """The key under which an imported cache of StableToolBench has the answer to this input."""
    return request_key(name, standard_input(tool_input))
