"""Masks what looks like a key in recorded conversations, which come from other programs than this one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from trialbed.settings import REDACTED, is_secret

SHAPES = re.compile(
    r"sk-[A-Za-z0-9_-]{16,200}"
    r"|gh[opsru]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}"
    r"|AKIA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{35}|xox[abprs]-[A-Za-z0-9-]{10,200}"
    r"|eyJ[A-Za-z0-9_-]{10,200}\.[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,1000}"
    r"|(?i:bearer) [A-Za-z0-9._~+/=-]{12,2000}"
)
"""Keys of OpenAI and vendors like it, GitHub, AWS, Google and Slack, signed tokens, and bearer tokens."""

NAMES = ("authorization", "apikey")
"""Names of fields that hold a key, beside those that a variable with a key may have."""


def mask(value: Any) -> Any:
    """Return a value of JSON without what looks like a key, and without the texts of fields that are named so."""
    if isinstance(value, str):
        return SHAPES.sub(REDACTED, value)
    if isinstance(value, Mapping):
        return {name: REDACTED if _is_key(name, item) else mask(item) for name, item in value.items()}
    return [mask(item) for item in value] if isinstance(value, list) else value


def _is_key(name: str, value: Any) -> bool:
    plain = name.replace("-", "_")
    return isinstance(value, str) and bool(value) and (plain.lower() in NAMES or is_secret(plain))
