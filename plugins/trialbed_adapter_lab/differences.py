"""Differences between two JSON values, each at its place, and values as messages show them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from posixpath import commonprefix
from typing import Any, Literal

from trialbed.records import Json, Record

Kind = Literal["lost", "added", "changed", "reordered"]

SHOWN = 300
"""Characters of a value that a message shows."""


class Difference(Record):
    """One difference between a given value and a sent one.

    Attributes:
        pointer: JSON Pointer (RFC 6901) to the lost given value, or else to the sent one.
        kind: ``reordered`` means the same keys or items in another order.
        given, sent: None if the value was added or lost, respectively. For reordered keys, their names.
    """

    pointer: str
    kind: Kind
    given: Json = None
    sent: Json = None


def differences(given: Json, sent: Json) -> tuple[Difference, ...]:
    """Return every difference; empty exactly if both are the same JSON text.

    The order of keys counts, and ``1`` is not ``1.0``.
    """
    return tuple(_compare(given, sent, ""))


NEAR = 24
"""Characters before and after the place of a difference that are shown."""


def tell_texts_apart(expected: str, seen: str) -> str:
    """Describe the first difference of two texts to the character, with invisible characters made visible."""
    if expected == seen:
        return "both are the same text"
    at = len(commonprefix((expected, seen)))
    if 0 < at == len(seen):
        return f"it ends after {at:,} of {len(expected):,} characters, before {visible(expected[at:][:NEAR])}"
    if 0 < at == len(expected):
        return f"it goes on after {at:,} characters with {visible(seen[at:][:NEAR])}"
    start = max(0, at - NEAR)
    wanted, found = (visible(text[start : at + NEAR]) or "nothing" for text in (expected, seen))
    return (
        f"from character {at} on, {found} in place of {wanted} ({len(seen):,} characters in place of {len(expected):,})"
    )


def visible(text: str) -> str:
    """Return a quoted text with invisible characters written by their numbers."""
    return json.dumps("".join(map(_visible, text)), ensure_ascii=False).replace("\\\\N{", "\\N{") if text else ""


_VARYING = re.compile(
    r"(?<=127\.0\.0\.1:)\d{1,5}(/t/[\w-]{1,80})?|0x[0-9a-f]{6,16}\b|\b[0-9a-f]{8}-[0-9a-f-]{27}\b"
    r"|(?<=File \")/[^\"\n]{1,400}(?=/[^/\"\n]{1,100}\")"
)
"""Parts of texts that differ from trial to trial: addresses of trials and of objects, UUIDs, and folders of code."""


def without_varying_parts(text: str) -> str:
    """Return a text without the parts that differ from trial to trial."""
    return _VARYING.sub("…", text)


def show(value: Any) -> str:
    """Return a value as JSON, shortened."""
    return shorten(json.dumps(value, ensure_ascii=False, default=repr))


def shorten(text: str) -> str:
    """Return the beginning and the end of a text."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 60]} … {text[-40:]} ({len(text)} characters)"


def _visible(character: str) -> str:
    told = unicodedata.category(character) in UNSEEN and character not in "\t\n\r"
    return f"\\N{{U+{ord(character):04X}}}" if told else character


UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Mn", "Me", "Zl", "Zp")
"""Categories of characters that are not seen, or not by themselves."""


def _compare(given: Any, sent: Any, pointer: str) -> Iterator[Difference]:
    if isinstance(given, dict) and isinstance(sent, dict):
        yield from _compare_objects(given, sent, pointer)
    elif isinstance(given, list) and isinstance(sent, list):
        yield from _compare_lists(given, sent, pointer)
    elif type(given) is not type(sent) or given != sent:
        yield Difference(pointer=pointer, kind="changed", given=given, sent=sent)


def _compare_objects(given: dict[str, Any], sent: dict[str, Any], pointer: str) -> Iterator[Difference]:
    before, after = [key for key in given if key in sent], [key for key in sent if key in given]
    if before != after:
        yield Difference(pointer=pointer, kind="reordered", given=before, sent=after)
    for key, value in given.items():
        if key in sent:
            yield from _compare(value, sent[key], _at(pointer, key))
        else:
            yield Difference(pointer=_at(pointer, key), kind="lost", given=value)
    for key in sent:
        if key not in given:
            yield Difference(pointer=_at(pointer, key), kind="added", sent=sent[key])


def _compare_lists(given: list[Any], sent: list[Any], pointer: str) -> Iterator[Difference]:
    before, after = [*map(_text, given)], [*map(_text, sent)]
    if before != after and Counter(before) == Counter(after):
        yield Difference(pointer=pointer, kind="reordered", given=given, sent=sent)
        return
    found = [_compare_aligned(given, sent, pointer, before, after)] if before != after else []
    if len(given) == len(sent):
        pairs = enumerate(zip(given, sent, strict=True))
        found.insert(0, (one for index, pair in pairs for one in _compare(*pair, _at(pointer, index))))
    # The shorter list of differences is the likelier one.
    yield from min(map(list, found), key=len)


def _compare_aligned(
    given: list[Any], sent: list[Any], pointer: str, before: list[str], after: list[str]
) -> Iterator[Difference]:
    for tag, first, last, start, stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        # Replaced items are compared one by one; the longer side's rest was lost or added.
        both = min(last - first, stop - start) if tag in ("equal", "replace") else 0
        for offset in range(both):
            yield from _compare(given[first + offset], sent[start + offset], _at(pointer, start + offset))
        for index in range(first + both, last):
            yield Difference(pointer=_at(pointer, index), kind="lost", given=given[index])
        for index in range(start + both, stop):
            yield Difference(pointer=_at(pointer, index), kind="added", sent=sent[index])


def _text(value: Any) -> str:
    """Return a text that ignores the order of keys."""
    return json.dumps(value, sort_keys=True)


def _at(pointer: str, key: str | int) -> str:
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
