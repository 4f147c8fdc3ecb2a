"""Strict JSON, read from endpoints, clients and files, and written to files and requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from math import isinf
from typing import Any, NoReturn

import orjson
from pydantic_core import from_json

DEEPEST = 200
"""Levels of nesting that are read; deeper values could not be written again."""

ParseFloat = Callable[[str], float]


def parse_json(text: bytes | str, parse_float: ParseFloat = float, *, unique: bool = False) -> Any:
    """Return the exact value of a JSON text. Integers of any size and lone surrogates are JSON, ``NaN`` is not.

    Args:
        parse_float: reads each number that is not an integer, such as ``finite_float``.
        unique: whether an object that has a key twice is refused.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    if parse_float is float and not unique:
        # As exact, several times as fast, and refuses deeper values itself. The decoder below reads texts that it
        # refuses, such as lone surrogates.
        with suppress(ValueError, TypeError):
            return from_json(text, allow_inf_nan=False, cache_strings="keys")
    value = _decode(text, parse_float, unique=unique)
    check_depth(value, text)
    return value


def _decode(text: str, parse_float: ParseFloat, *, unique: bool) -> Any:
    try:
        return json_decoder(parse_float, unique=unique).decode(text)
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    except ValueError as error:
        if str(error).startswith("Exceeds the limit"):
            raise ValueError("an integer with too many digits") from None
        raise


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
    """Return a value as compact JSON, in UTF-8, or in ASCII if it holds lone surrogates or integers beyond 64 bits."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()


@lru_cache(maxsize=8)
def json_decoder(parse_float: ParseFloat = float, *, unique: bool = False) -> json.JSONDecoder:
    """A decoder of strict JSON, for several values in one text; ``check_depth`` is to follow."""
    # To make one takes longer than to read a request.
    pairs = _object if unique else None
    return json.JSONDecoder(parse_constant=_refuse, parse_float=parse_float, object_pairs_hook=pairs)


def check_depth(value: Any, text: str, deepest: int = DEEPEST) -> None:
    """Check that a value read from a text is not nested too deeply.

    Raises:
        ValueError: it is.
    """
    if text.count("[") + text.count("{") > deepest and is_nested(value, deepest + 1):
        raise ValueError(f"nested deeper than {deepest} levels")


def is_nested(value: Any, levels: int) -> bool:
    """Return whether a value has so many levels of objects and lists within each other, or one with values in it."""
    level = [value]
    for _ in range(levels):
        level = [inner for outer in level for inner in _inner(outer)]
    return bool(level)


def finite_float(text: str) -> float:
    """Return the number in a text.

    Raises:
        ValueError: it is too large for a float.
    """
    value = float(text)
    if isinf(value):
        raise ValueError(f"the number {text[:20]} is too large")
    return value


def lenient_json(text: bytes | str, otherwise: Any = None) -> Any:
    """Return the value of a JSON text, with ``NaN``, as lenient clients do; ``otherwise`` if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def parse_object(body: bytes) -> tuple[dict[str, Any], str]:
    """Return the object in the body of a request, and the reason if it is not an object."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        return {}, f"the request's body is not JSON: {error}"
    return (document, "") if isinstance(document, dict) else ({}, "the request's body must be a JSON object")


def plain_numbers(value: Any) -> Any:
    """Return the value with 3 for 3.0, which is the same number in JSON."""
    if isinstance(value, dict):
        return {name: plain_numbers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain_numbers(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} occurs twice in one object")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _inner(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
