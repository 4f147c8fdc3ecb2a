"""What a request asks for: the parts that must agree between vendors, apart from those that may not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from sys import intern
from typing import Any, NamedTuple

CONTENT = (
    "messages",
    "prompt",
    "suffix",
    "tools",
    "functions",
    "tool_choice",
    "function_call",
    "response_format",
)
"""What is asked. All else is a setting, or the vendor's business."""

OF_THE_VENDOR = frozenset(("model", "stream", "stream_options", "provider", "user", "metadata"))
"""What may differ between vendors of one model."""


class Requested(NamedTuple):
    """What a request asks for.

    Attributes:
        content: (part, digest) of each part of the content, in a fixed order: equal for equal content.
        settings: temperature, limits and all else that changes answers, as canonical JSON.
    """

    content: tuple[tuple[str, str], ...]
    settings: str


def requested(body: Mapping[str, Any]) -> Requested:
    """What a request body asks for; an absent part and one that is null are the same."""
    content = tuple((part, _digest(body[part])) for part in CONTENT if body.get(part) is not None)
    rest = {
        key: value
        for key, value in body.items()
        if value is not None and key not in OF_THE_VENDOR and key not in CONTENT
    }
    return Requested(content, intern(_canonical(rest)))


def _digest(value: Any) -> str:
    return intern(hashlib.blake2b(_canonical(value).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest())


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
