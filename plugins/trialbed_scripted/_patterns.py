"""Texts that match a regular expression."""

from __future__ import annotations

import re
import string
import warnings
from collections.abc import Iterator
from typing import Any

ALPHABET = string.ascii_lowercase + string.digits + string.ascii_uppercase + " -_.@/:"
LONGEST = 100_000
"""Characters of the longest text that is made; nested repetitions can ask for any number."""

WIDEST = 3
"""Repetitions beyond the least that are tried."""


def matching_texts(pattern: str, least: int = 0) -> Iterator[str]:
    """Yield texts of which a pattern matches some part; none if the pattern is too hard.

    Args:
        least: characters that the text needs.
    """
    from re import _parser  # type: ignore[attr-defined]

    # The engine of the schemas has properties of Unicode; ASCII letters have the common ones.
    readable = re.sub(r"\\p\{[^{}]*\}", "[a-z]", re.sub(r"\(\?<(?![=!])", "(?P<", pattern))
    readable = re.sub(r"\\k<(\w+)>", r"(?P=\1)", readable)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = _parser.parse(readable)
        for extra in range(WIDEST + 1):
            text = _text(parsed, extra, {})
            yield text
        yield _text(parsed, max(0, least - len(_text(parsed, 0, {}))), {})
    except (re.error, NotImplementedError, RecursionError, OverflowError):
        return


def _text(parsed: Any, extra: int, groups: dict[int, str]) -> str:
    return "".join(_part(str(kind), value, extra, groups) for kind, value in parsed)


def _part(kind: str, value: Any, extra: int, groups: dict[int, str]) -> str:
    match kind:
        case "LITERAL":
            return chr(value)
        case "NOT_LITERAL":
            return next(letter for letter in ALPHABET if ord(letter) != value)
        case "ANY":
            return "a"
        case "IN":
            return next((letter for letter in _candidates(value) if _is_in(letter, value)), "a")
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = value
            part, times = _text(inner, 0, groups), min(int(most), int(least) + extra)
            if len(part) * times > LONGEST:
                raise NotImplementedError("a text of this length")
            return part * times
        case "SUBPATTERN":
            number, _, _, inner = value
            text = _text(inner, extra, groups)
            groups[number] = text
            return text
        case "BRANCH":
            branches = value[1]
            return _text(branches[extra % len(branches)], extra, groups)
        case "GROUPREF":
            return groups.get(value, "")
        case "AT" | "ASSERT" | "ASSERT_NOT":
            return ""
    raise NotImplementedError(kind)


def _candidates(items: Any) -> Iterator[str]:
    for kind, value in items:
        if str(kind) == "LITERAL":
            yield chr(value)
        elif str(kind) == "RANGE":
            yield chr(value[0])
    yield from ALPHABET


def _is_in(letter: str, items: Any) -> bool:
    negated = bool(items) and str(items[0][0]) == "NEGATE"
    found: bool = any(_is_item(letter, str(kind), value) for kind, value in items)
    return found is not negated


def _is_item(letter: str, kind: str, value: Any) -> bool:
    if kind == "LITERAL":
        return ord(letter) == int(value)
    if kind == "RANGE":
        low, high = value
        return int(low) <= ord(letter) <= int(high)
    if kind == "CATEGORY":
        return _CATEGORIES[str(value)].fullmatch(letter) is not None
    return False


_CATEGORIES = {
    "CATEGORY_DIGIT": re.compile(r"[0-9]"),
    "CATEGORY_NOT_DIGIT": re.compile(r"[^0-9]"),
    "CATEGORY_WORD": re.compile(r"[0-9A-Za-z_]"),
    "CATEGORY_NOT_WORD": re.compile(r"[^0-9A-Za-z_]"),
    "CATEGORY_SPACE": re.compile(r"\s"),
    "CATEGORY_NOT_SPACE": re.compile(r"\S"),
}
