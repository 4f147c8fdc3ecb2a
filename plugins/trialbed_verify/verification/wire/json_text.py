"""JSON as it comes from vendors and goes into files."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import orjson

DEEPEST = 200
"""Levels of nesting that are read; what is deeper could not be written again."""


def parsed(text: bytes) -> Any:
    """The value of a JSON text, exactly: integers of any size and halves of characters are JSON, ``NaN`` is not.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    try:
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    if text.count(b"[") + text.count(b"{") > DEEPEST and _depth(value) > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    return value


def parsed_fast(text: bytes) -> Any:
    """As ``parsed``, several times faster; integers beyond 64 bits become floats.

    Raises:
        ValueError: as there.
    """
    if text.count(b"[") + text.count(b"{") > DEEPEST:
        return parsed(text)
    try:
        return orjson.loads(text)
    except ValueError:
        return parsed(text)


def written(value: Any) -> bytes:
    """A value as JSON, UTF-8."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [inner for outer in level for inner in _inner(outer)]:
        depth += 1
    return depth


def _inner(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
