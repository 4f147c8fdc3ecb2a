"""Strict JSON: no ``NaN``, no number that is too large for a float, no key twice, and no bottomless nesting."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NoReturn

DEEPEST = 200
"""Levels of nesting that are read."""


def read_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse, parse_float=_float)
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    check_depth(value, text)
    return value


def decoder() -> json.JSONDecoder:
    """What decodes several values in one text; ``check_depth`` is to follow."""
    return json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse, parse_float=_float)


def check_depth(value: Any, text: str) -> None:
    """Check that a value read from a text is not nested too deeply.

    Raises:
        ValueError: it is.
    """
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    level, depth = [value], 0
    while level := [inner for outer in level for inner in _inner(outer)]:
        depth += 1
        if depth > DEEPEST:
            raise ValueError(f"nested deeper than {DEEPEST} levels")


def _inner(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} occurs twice in one object")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:20]} is too large")
    return value
