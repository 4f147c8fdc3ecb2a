"""Generate texts that match a regular expression."""

from __future__ import annotations

import re
import string
import warnings
from collections.abc import Iterator
from typing import Any

ALPHABET = string.ascii_lowercase + string.digits + string.ascii_uppercase + " -_.@/:"
LONGEST = 100_000
"""Longest generated text, in characters. Nested repetitions can ask for any number."""

WIDEST = 3
"""Most repetitions to try beyond the minimum."""


def matching_texts(pattern: str, least: int = 0) -> Iterator[str]:
    """Yield texts that contain a match of a pattern, or nothing if the pattern is too hard.

    Args:
        least: the minimum length of the text, in characters.
    """
    from re import _parser  # type: ignore[attr-defined]

    # The schema engine supports Unicode properties. ASCII letters have the common ones.
    readable = re.sub(r"\\p\{[^{}]*\}", "[a-z]", re.sub(r"\(\?<(?![=!])", "(?P<", pattern))
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
        case "ANY":
            return "a"
        case "IN" | "NOT_LITERAL":
            return _letter(kind, value)
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


def _letter(kind: str, value: Any) -> str:
    """Return a letter of a class, preferably one it names."""
    from re import _compiler, _constants, _parser  # type: ignore[attr-defined]

    named = [part for name, part in value if str(name) in ("LITERAL", "RANGE")] if kind == "IN" else []
    letters = [chr(part if isinstance(part, int) else part[0]) for part in named]
    single = _parser.SubPattern(_parser.State(), [(getattr(_constants, kind), value)])
    matches = _compiler.compile(single, re.ASCII).fullmatch
    return next((letter for letter in (*letters, *ALPHABET) if matches(letter)), "a")
