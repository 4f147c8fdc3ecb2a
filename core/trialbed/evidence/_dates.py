"""Dates in a text, however they are written."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

MONTHS = {
    1: "jan gen ene",
    2: "feb fev",
    3: "mar maa",
    4: "apr avr abr",
    5: "may mai mag mei maj",
    6: "jun juin giu",
    7: "jul juil lug",
    8: "aug ago aou",
    9: "sep set",
    10: "oct okt ott out",
    11: "nov",
    12: "dec dez dic",
}
"""The beginnings of the months in English, German, French, Spanish, Italian, Portuguese and Dutch, without accents."""

_BEGINNINGS = {name: month for month, names in MONTHS.items() for name in names.split()}
_ACCENTS = str.maketrans("äéèûçã", "aeeuca")
_LETTER = "[a-zäéèûçã]"

_MONTH = rf"(?P<month>(?=[a-z]){_LETTER}{{3,12}})\.?"
_DAY = r"(?P<day>[0-3]?[0-9])(?:st|nd|rd|th|er|\.|º)?"
_OF = "(?: of| de| di)?"
_FORMS = (
    re.compile(r"(?<![\w-])(?P<year>[0-9]{4})-(?P<number>[01][0-9])-(?P<day>[0-3][0-9])(?![\w-])"),
    re.compile(r"(?<![\w/])(?P<year>[0-9]{4})/(?P<number>[01]?[0-9])/(?P<day>[0-3]?[0-9])(?![\w/])"),
    re.compile(r"(?<![\w.])(?P<day>[0-3]?[0-9])\.[ ]?(?P<number>[01]?[0-9])\.[ ]?(?P<year>[0-9]{4})(?!\w|\.[0-9])"),
    # Either order is in use.
    *(
        re.compile(rf"(?<![\w{mark}]){first}{mark}{second}{mark}(?P<year>[0-9]{{4}})(?![\w{mark}])")
        for mark in ("/", "-")
        for first, second in (
            ("(?P<day>[0-3]?[0-9])", "(?P<number>[01]?[0-9])"),
            ("(?P<number>[01]?[0-9])", "(?P<day>[0-3]?[0-9])"),
        )
    ),
    re.compile(rf"(?<!\w){_DAY}{_OF} {_MONTH}(?:,| of| del?)? (?P<year>[0-9]{{4}})(?!\w)"),
    re.compile(rf"(?<!\w){_DAY}-{_MONTH}-(?P<year>[0-9]{{4}})(?!\w)"),
    re.compile(rf"(?<!\w){_MONTH} {_DAY},? (?P<year>[0-9]{{4}})(?!\w)"),
    # 2026年5月3日
    re.compile(r"(?<!\w)(?P<year>[0-9]{4}) ?[年년] *(?P<number>[01]?[0-9]) ?[月월] *(?P<day>[0-3]?[0-9]) ?[日일]"),
)


class FoundDate(NamedTuple):
    """A date and its place in the text."""

    day: date
    start: int
    end: int


def dates(text: str) -> list[FoundDate]:
    """The full dates of a text in lower case: ``2026-05-03``, ``3 may 2026``, ``may 3rd, 2026``, ``03.05.2026``."""
    matches = (found for form in _FORMS for found in form.finditer(text))
    return [FoundDate(day, found.start(), found.end()) for found in matches if (day := _day(found))]


def _day(found: re.Match[str]) -> date | None:
    parts = found.groupdict()
    name = parts.get("month")
    month = _month(name) if name else int(parts["number"])
    try:
        return date(int(parts["year"]), month, int(parts["day"]))
    except ValueError:
        return None


def _month(name: str) -> int:
    """Return the month of that name; 0 if there is none."""
    plain = name.translate(_ACCENTS)
    return _BEGINNINGS.get(plain[:3]) or _BEGINNINGS.get(plain[:4], 0)
