"""Estimates of tokens, and the seconds that spans of time cover."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import orjson

BYTES_PER_TOKEN = 4


def compact_bytes(value: Any) -> int:
    """Return the size of a JSON value as compact UTF-8 JSON, which does not depend on a client's formatting."""
    try:
        return len(orjson.dumps(value))
    except TypeError:  # such as for lone surrogates and integers beyond 64 bits
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return len(text.encode("utf-8", "replace"))


def estimated_tokens(value: Any) -> int:
    """Estimate the tokens of a value deterministically as one per 4 bytes of compact JSON, rounded up."""
    return -(-compact_bytes(value) // BYTES_PER_TOKEN)


Span = tuple[float, float]
"""Start and end, in seconds on the same clock."""


def covered(spans: Iterable[Span]) -> float:
    """Return the seconds that at least one of the spans covers; a span that ends before it starts covers nothing."""
    total, end = 0.0, float("-inf")
    for start, stop in sorted(spans):
        begin = max(start, end)
        if stop > begin:
            total += stop - begin
            end = stop
    return total
