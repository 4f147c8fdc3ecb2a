"""The values of a vendor's entry in a configuration file, key by key."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

VALIDATORS = ("openai",)
PRICES = ("input", "output")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a string")  # noqa: TRY004 - becomes a message with file and line
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")  # noqa: TRY004 - as above
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("a whole number of at least 1")
    return value


def _amount(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise ValueError("a number of at least 0")
    return float(value)


def _validator(value: Any) -> str:
    if value not in VALIDATORS:
        raise ValueError(f"one of {', '.join(VALIDATORS)}")
    return str(value)


def _body(value: Any) -> dict[str, Any]:
    wanted = "a mapping of what JSON can hold, with strings as keys"
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ValueError(wanted)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError(wanted) from None
    return value


def _headers(value: Any) -> dict[str, str]:
    wanted = "a mapping of header names to strings of one line"
    if not isinstance(value, dict):
        raise ValueError(wanted)  # noqa: TRY004 - as above
    if not all(isinstance(part, str) and part.isprintable() for pair in value.items() for part in pair):
        raise ValueError(wanted)
    return value


def _prices(value: Any) -> dict[str, float]:
    wanted = f"a mapping with {' and '.join(PRICES)}: numbers of at least 0, per million tokens"
    if not isinstance(value, dict) or not value or not set(value) <= set(PRICES):
        raise ValueError(wanted)
    try:
        return {key: _amount(price) for key, price in value.items()}
    except ValueError:
        raise ValueError(wanted) from None


FIELDS: Mapping[str, Callable[[Any], Any]] = {
    "name": _text,
    "model_id": _text,
    "api_key": _text,
    "provider": _text,
    "url": _text,
    "validator": _validator,
    "is_baseline": _truth,
    "trials": _count,
    "concurrency": _count,
    "temperature": _amount,
    "max_tokens": _count,
    "stream": _truth,
    "extra_body": _body,
    "headers": _headers,
    "prices": _prices,
}
"""Keys of a vendor's entry -> the check of their values; its ``ValueError`` says how the value must be."""
