"""Strict JSON: read from endpoints, written to files and requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn

import orjson

DEEPEST = 200
"""Levels of nesting that are read; deeper values could not be written again."""


def parse_json(text: bytes, parse_float: Callable[[str], float] = float) -> Any:
    """The value of a JSON text, exactly: integers of any size and lone surrogates are JSON, ``NaN`` is not.

    Args:
        parse_float: reads each number that is not an integer.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    try:
        value = _decoder(parse_float).decode(text.decode(json.detect_encoding(text), "surrogatepass"))
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    except ValueError as error:
        if str(error).startswith("Exceeds the limit"):
            raise ValueError("an integer of more digits than can be read") from None
        raise
    if text.count(b"[") + text.count(b"{") > DEEPEST and _depth(value) > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    return value


def parse_json_fast(text: bytes) -> Any:
    """Like ``parse_json`` and several times faster, but integers beyond 64 bits become floats.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    if len(text) > DEEPEST and text.count(b"[") + text.count(b"{") > DEEPEST:
        return parse_json(text)
    try:
        return orjson.loads(text)
    except ValueError:
        return parse_json(text)


def dump_json(value: Any) -> bytes:
    """A value as compact JSON; in UTF-8, or in ASCII where it holds lone surrogates or integers beyond 64 bits."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()


@lru_cache(maxsize=4)
def _decoder(parse_float: Callable[[str], float]) -> json.JSONDecoder:
    """A reader of strict JSON; to make one takes longer than to read a request."""
    return json.JSONDecoder(parse_constant=_refuse, parse_float=parse_float)


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
