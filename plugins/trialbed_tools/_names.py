"""Names of tools that every vendor's API takes."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 64
"""Characters of a name."""

MOST_READ = 1000
"""Characters of a text of which a name is made."""

_BAD = re.compile(r"[^A-Za-z0-9_-]+")


def valid_name(text: str) -> str:
    """Return a text as a name: letters, digits, ``_`` and ``-``, beginning with a letter or ``_``."""
    name = _BAD.sub("_", text[:MOST_READ]).strip("_-") or "tool"
    return (name if name[0].isalpha() else f"_{name}")[:LONGEST]


def unique_names(wanted: Iterable[str]) -> list[str]:
    """Return a valid name for each text; where two meet, the later one gets a number."""
    found: dict[str, None] = {}
    last: dict[str, int] = {}
    for text in wanted:
        plain = name = valid_name(text)
        while name in found:
            last[plain] = last.get(plain, 1) + 1
            ending = f"_{last[plain]}"
            name = plain[: LONGEST - len(ending)] + ending
        found[name] = None
    return list(found)
