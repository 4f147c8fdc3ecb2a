"""Arguments beside the text that the model wrote for them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from trialbed.records import Json
from trialbed.texts import json_leaves
from trialbed.tool_calls._calls import parse_arguments

NUMBER = re.compile(r"-?\d{1,300}(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?")
TRUTHS = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0"})

MOST = 1000
"""Values of the arguments of one call that are looked at, and numbers that the model wrote; the first ones."""


def unwritten_values(arguments: Json, written: str, schema: Json = None) -> list[str]:
    """Return the values in the arguments of a call that the model did not write in its own, and that no schema gives.

    Spelling does not count: case, separators, quotes, and texts for numbers and truth values. Nor do empty values, and
    the defaults and sole choices of the tool's schema.

    Args:
        arguments: as the Api got them.
        written: as the model wrote them.
    """
    parsed = parse_arguments(written)
    text = written if isinstance(parsed, str) else f"{written} {json.dumps(parsed, ensure_ascii=False)}"
    plain, given = plain_text(text), {_key(value) for value in _given(schema)}
    numbers: set[float] | None = None
    found = []
    for number, value in enumerate(json_leaves(parse_arguments(arguments))):
        if number == MOST:
            break
        if value in (None, "") or _key(value) in given:
            continue
        if isinstance(value, bool):
            known = any(word in plain for word in TRUTHS)
        elif isinstance(value, int | float):
            numbers = _numbers(text) if numbers is None else numbers
            known = value in numbers
        else:
            known = plain_text(value) in plain
        if not known:
            found.append(str(value))
    return found


def plain_text(text: str) -> str:
    """Return a text's letters and digits alone, without case."""
    return "".join(character for character in text.casefold() if character.isalnum())


def _numbers(text: str) -> set[float]:
    """Return the numbers in a text, and each without its fraction."""
    found: set[float] = set()
    for place, match in enumerate(NUMBER.finditer(text)):
        if place == MOST:
            break
        value = float(match[0])
        found |= {value, abs(value)}
        if abs(value) < 1e15:
            found |= {int(value), round(value)}
    return found


def _given(schema: Any) -> Iterator[Any]:
    """Yield the values that a schema gives itself: defaults, constants and sole choices, at any depth."""
    left = [schema]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            for name in ("default", "const"):
                if name in one:
                    yield from json_leaves(one[name])
            choices = one.get("enum")
            if isinstance(choices, list) and len(choices) == 1:
                yield choices[0]
            left.extend(one.values())
        elif isinstance(one, list):
            left.extend(one)


def _key(value: Any) -> tuple[str, str]:
    """Return a value so that 1, 1.0 and True are told apart as JSON tells them, and 1 equals 1.0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return type(value).__name__, str(value)
    return "number", f"{float(value)!r}" if abs(value) < 1e300 else str(value)
