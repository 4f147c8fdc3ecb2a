"""Estimates tokens without a tokenizer."""

from __future__ import annotations

import json
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
