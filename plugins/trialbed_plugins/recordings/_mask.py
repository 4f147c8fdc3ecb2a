"""Mask the parts of requests that a recording ignores, and find parts that vary between trials of an agent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trialbed_plugins.recordings._difference import differences
from trialbed_plugins.recordings._key import canonical_text

CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?[AaPp][Mm]\b)?(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})\b)?"
MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?"
DATE = (
    rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}/\d{{1,2}}/\d{{2,4}}|{DAY}{MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}"
    rf"|{DAY}\d{{1,2}} {MONTH} \d{{4}})"
)

SECONDS = r"1\d{9}(?:\.\d{1,9}|(?:\d{3}){1,3})?"

PATTERNS = {
    "uuid": re.compile(r"\b[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\b"),
    "time": re.compile(rf"\b(?:{DATE}(?:(?:T|,? (?:at )?){CLOCK})?|{CLOCK}|{SECONDS})\b"),
}
"""Maps masks to the patterns that they ignore in texts. Seconds since 1970 are times, too."""

ORDER = "order"
"""The mask that ignores the order of tools."""

WORDS = (*PATTERNS, ORDER)

STEP = re.compile(r"\.([\w-]+|\*)|\[(\d{1,9}|\*)\]|\['([^']+)'\]")
MASK = re.compile(rf"{'|'.join(WORDS)}|\$(?:{STEP.pattern})+")
"""The syntax of a mask: a word, or the JSON path of a field."""

MOST = 10
"""Most differences between two requests for which masks are suggested."""


def apply_masks(request: Mapping[str, Any], ignored: Sequence[str]) -> dict[str, Any]:
    """Return a canonical request without the ignored parts."""
    found: Any = dict(request)
    for one in ignored:
        if one in PATTERNS:
            found = _replace_texts(found, PATTERNS[one], f"({one})")
        elif one != ORDER:
            found = _drop_field(found, ["".join(step) for step in STEP.findall(one)])
        elif isinstance(found.get("tools"), list):
            found["tools"] = sorted(found["tools"], key=canonical_text)
    whole: dict[str, Any] = found
    return whole


def find_masks(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """Return masks that make two canonical requests equal; empty if they are equal, or if no masks suffice."""
    found, left = [*WORDS], _paths(one, other, WORDS)
    for word in WORDS:
        others = [mask for mask in found if mask != word]
        if len(_paths(one, other, others)) == len(left):  # one text may have both a time and an id
            found = others
    found += [path for path in left if MASK.fullmatch(path)]
    return tuple(found) if len(left) <= MOST and not _paths(one, other, found) else ()


def _paths(one: Mapping[str, Any], other: Mapping[str, Any], ignored: Sequence[str]) -> list[str]:
    return [f"$.{found.path}" for found in differences(apply_masks(one, ignored), apply_masks(other, ignored))]


def _replace_texts(value: Any, pattern: re.Pattern[str], text: str) -> Any:
    if isinstance(value, str):
        return pattern.sub(text, value)
    if isinstance(value, dict):
        return {name: _replace_texts(one, pattern, text) for name, one in value.items()}
    return [_replace_texts(one, pattern, text) for one in value] if isinstance(value, list) else value


def _drop_field(value: Any, steps: Sequence[str]) -> Any:
    """Return a value without the fields at a path. List items keep their positions."""
    first, *rest = steps
    if isinstance(value, dict):
        return dict(_other_items(value.items(), first, rest))
    if not isinstance(value, list):
        return value
    kept = dict(_other_items(((str(place), one) for place, one in enumerate(value)), first, rest))
    return [kept.get(str(place), "(ignored)") for place in range(len(value))]


def _other_items(items: Any, first: str, rest: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for name, one in items:
        if first not in (name, "*"):
            yield name, one
        elif rest:
            yield name, _drop_field(one, rest)
