"""Reads texts of any origin in a time that grows no faster than they do, and writes numbers in words."""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel

Key = TypeVar("Key")
Value = TypeVar("Value")

MOST_MARKS = 30
"""Combining marks in a row that are kept, as in the Stream-Safe Text Format of Unicode; no language needs as many."""

EFFORT = 8
"""Times that each character is read at most, on average, in the search for JSON."""

LEAST_EFFORT = 500_000
"""Characters that are read at least, which takes some milliseconds; an opening that fails counts as 100."""

LEAST_POINTS, WHOLE_POINTS = 0.05, 9.5
"""Differences below the first number of points have no figure, and from the second on no digit after the point."""

_MARKS = re.compile(rf"[^\w\s!-~]{{{MOST_MARKS + 1},}}")
"""All long runs of marks, among others."""

_THOUGHTS = re.compile("<(/?)(think|thinking|reasoning)>", re.IGNORECASE)


def normalize(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Return ``unicodedata.normalize``, which takes a quadratic time to sort the marks on one letter, for a few marks.

    Of more marks on one letter than any language needs, the first ones are kept.
    """
    return text if text.isascii() else unicodedata.normalize(form, _MARKS.sub(_few_marks, text))


def _few_marks(found: re.Match[str]) -> str:
    kept, row = [], 0
    for character in found[0]:
        row = row + 1 if unicodedata.combining(character) else 0
        if row <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)


def number_of(count: int, one: str, more: str = "") -> str:
    """Return a number with its noun: ``1 query``, ``1,200 trials``.

    Args:
        more: the plural; empty for the singular with an s.
    """
    return f"1 {one}" if count == 1 else f"{count:,} {more or f'{one}s'}"


def number_were(count: int, one: str) -> str:
    """Return a number with its noun and verb: ``1 trial was``, ``1,200 trials were``."""
    return f"{number_of(count, one)} {'was' if count == 1 else 'were'}"


def first_of(names: Sequence[str], most: int) -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def one_line(text: str, longest: int) -> str:
    """Return a text on one line, cut to this many characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def without_thoughts(text: str) -> str:
    """Return the text without what stands between the thinking tags of a reasoning model; a tag left open stays."""
    tags = list(_THOUGHTS.finditer(text))
    closings: dict[str, list[int]] = defaultdict(list)
    for number, tag in enumerate(tags):
        if tag[1]:
            closings[tag[2].lower()].append(number)
    kept, place = [], 0
    for number, tag in enumerate(tags):
        if tag[1] or tag.start() < place:
            continue
        same = closings[tag[2].lower()]
        at = bisect_left(same, number)
        if at < len(same):
            kept.append(text[place : tag.start()])
            place = tags[same[at]].end()
    return "".join([*kept, text[place:]])


def json_values(
    text: str, opening: re.Pattern[str], decoder: json.JSONDecoder | None = None
) -> Iterator[tuple[int, int, Any]]:
    """Find the outermost JSON values in a text and yield start, end and value of each.

    The search ends after it has read each character ``EFFORT`` times on average, which only texts made for it need.

    Args:
        opening: matches the possible beginnings of a value.
        decoder: of the values.
    """
    read = (decoder or json.JSONDecoder()).raw_decode
    place, effort = 0, EFFORT * len(text) + LEAST_EFFORT
    while effort > 0 and (found := opening.search(text, place)):
        start = found.start()
        try:
            value, place = read(text, start)
        except json.JSONDecodeError as error:
            # The exception counts the lines before it.
            effort -= error.pos - start + 100 + start // 100
            place = start + 1
        except (ValueError, RecursionError):  # a number of thousands of digits; nested too deeply
            effort -= len(text) - start
            place = start + 1
        else:
            effort -= place - start
            yield start, place, value


def json_leaves(value: Any) -> Iterator[Any]:
    """Yield the parts of a JSON value that are neither objects nor lists, in their order, at any depth."""
    # Without recursion, which values of some hundred levels would take too far.
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, str):  # as most are
            yield part
        elif isinstance(part, dict):
            left.extend(reversed(part.values()))
        elif isinstance(part, list):
            left.extend(reversed(part))
        else:
            yield part


def whole_text(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate, which UTF-8 cannot carry; models cut emoji in half."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def whole_texts(value: Any) -> Any:
    """Return the JSON value with every text in it made whole, keys too."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole_texts(key): whole_texts(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [whole_texts(item) for item in value]
    return value


def whole_body(body: bytes) -> bytes:
    """Return the body of JSON with every text in it made whole; it is unchanged if it has no half of a character."""
    if b"\\ud" in body.lower():
        with suppress(ValueError, RecursionError):  # the reader of the body reports the error
            if (whole := whole_texts(value := json.loads(body))) != value:
                return json.dumps(whole).encode()
    return body


def record_json(record: BaseModel) -> str:
    """Return the record as JSON; if a text in it has half of a character, all texts are made whole.

    Raises:
        ValueError, RecursionError: it is nested too deeply.
    """
    try:
        return record.model_dump_json()
    except ValueError:
        return type(record).model_validate(whole_texts(record.model_dump())).model_dump_json()


def decimal_text(number: float) -> str:
    """Return a number in digits, such as 0.7 or 1, with a different text for every number."""
    return repr(number).removesuffix(".0")


def percent(share: float, digits: int = 0) -> str:
    """Return a share as a percentage that is 0 or 100 only if the share is 0 or 1.

    Args:
        digits: after the point.
    """
    # Rounded like the share as a number: 0.475 is 0.47 in a table, and 47 % here.
    shown, step = f"{100 * float(f'{share:.{digits + 2}f}'):.{digits}f}", 10.0**-digits
    if share > 0 and not float(shown):
        return f"<{step:.{digits}f} %"
    return f">{100 - step:.{digits}f} %" if share < 1 and float(shown) == 100 else f"{shown} %"


def points(difference: float) -> str:
    """Return a difference between shares without its sign; a small one has a digit, as shares are rounded."""
    # Means over the same values in another order differ by an error of rounding.
    found = round(abs(100 * difference), 9)
    if 0 < found < LEAST_POINTS:
        return "less than 0.1 points"
    # Rounded like the difference as a number, such as -0.33.
    whole = f"{100 * float(f'{abs(difference):.2f}'):.0f}"
    shown = whole if found >= WHOLE_POINTS else f"{found:.1f}".removesuffix(".0")
    return "1 point" if shown == "1" else f"{shown} points"


def group_by_key(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return the values of each key, in their order."""
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found
