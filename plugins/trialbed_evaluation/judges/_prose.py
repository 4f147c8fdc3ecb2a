"""The part of an answer that is said, and not only copied from a tool."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

_KEY = re.compile(r"""[{,]\s*(?:"([^"\n]{1,80})"|'([^'\n]{1,80})')\s*:""")
"""A key of an object in JSON, or as Python writes it."""

_OPENING = re.compile(r"[{\[]")

WRAPPING = frozenset(("error", "response"))
"""Keys of the virtual API's own answers."""


def prose(answer: str, responses: Iterable[Any]) -> str:
    """Return the answer without raw copies of responses: objects and lists of them, in JSON or as Python writes them.

    A copy may be cut off. Facts in an object of the agent's own count as stated.

    Args:
        responses: of the calls that were made.
    """
    if not _OPENING.search(answer):
        return answer
    known = WRAPPING.union(*map(_keys, responses))
    kept, last = [], 0
    for start, end in _blocks(answer):
        keys = {first or second for first, second in _KEY.findall(answer[start:end])}
        if keys and len(keys & known) * 2 >= len(keys):
            kept.append(answer[last:start])
            last = end
    return "\n".join([*kept, answer[last:]]) if kept else answer


def _keys(response: Any) -> Collection[str]:
    text = response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)
    return {first or second for first, second in _KEY.findall(text)}


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Everything in brackets that is in no other brackets."""
    place = 0
    while found := _OPENING.search(text, place):
        place = _closing_place(text, found.start())
        yield found.start(), place


def _closing_place(text: str, start: int) -> int:
    """Find the end of the bracket that opens here; the end of the text if it is cut off."""
    depth, quoted, place = 0, False, start
    while place < len(text):
        character = text[place]
        if character == "\\" and quoted:
            place += 1
        elif character == '"':
            quoted = not quoted
        elif quoted:
            pass
        elif character in "{[":
            depth += 1
        elif character in "}]":
            depth -= 1
            if not depth:
                return place + 1
        place += 1
    return len(text)
