"""Dates in a text, however they are written."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)

_GERMAN = {"mär": "mar", "mai": "may", "okt": "oct", "dez": "dec"}
"""The beginnings of German months that are not those of the English."""

_MONTH = r"(?P<month>jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sept?|oct|okt|nov|dec|dez)[a-z]*\.?"
_DAY = r"(?P<day>[0-3]?[0-9])(?:st|nd|rd|th|\.)?"
_FORMS = (
    re.compile(r"(?<![\w-])(?P<year>[0-9]{4})-(?P<number>[01][0-9])-(?P<day>[0-3][0-9])(?![\w-])"),
    re.compile(r"(?<![\w/])(?P<year>[0-9]{4})/(?P<number>[01]?[0-9])/(?P<day>[0-3]?[0-9])(?![\w/])"),
    re.compile(r"(?<![\w.])(?P<day>[0-3]?[0-9])\.[ ]?(?P<number>[01]?[0-9])\.[ ]?(?P<year>[0-9]{4})(?!\w|\.[0-9])"),
    # Either order is in use.
    re.compile(r"(?<![\w/])(?P<day>[0-3]?[0-9])/(?P<number>[01]?[0-9])/(?P<year>[0-9]{4})(?![\w/])"),
    re.compile(r"(?<![\w/])(?P<number>[01]?[0-9])/(?P<day>[0-3]?[0-9])/(?P<year>[0-9]{4})(?![\w/])"),
    re.compile(rf"(?<!\w){_DAY}(?: of)? {_MONTH},? (?P<year>[0-9]{{4}})(?!\w)"),
    re.compile(rf"(?<!\w){_MONTH} {_DAY},? (?P<year>[0-9]{{4}})(?!\w)"),
)


class Found(NamedTuple):
    """A date and its place in the text."""

    day: date
    start: int
    end: int


def dates(text: str) -> list[Found]:
    """The full dates of a text in lower case: ``2026-05-03``, ``3 may 2026``, ``may 3rd, 2026``, ``03.05.2026``."""
    matches = (found for form in _FORMS for found in form.finditer(text))
    return [Found(day, found.start(), found.end()) for found in matches if (day := _day(found))]


def _day(found: re.Match[str]) -> date | None:
    parts = found.groupdict()
    name = parts.get("month")
    short = _GERMAN.get(name[:3], name[:3]) if name else ""
    month = next(n for n, full in enumerate(MONTHS, 1) if full.startswith(short)) if short else int(parts["number"])
    try:
        return date(int(parts["year"]), month, int(parts["day"]))
    except ValueError:
        return None
