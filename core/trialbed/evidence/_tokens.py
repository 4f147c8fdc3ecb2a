"""Texts as tokens in one spelling, with dates and second readings of numbers, to compare them by meaning."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from contextlib import suppress
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from trialbed.texts import normalize

LONGEST_NUMBER = 40
"""Characters of a number; longer runs of digits are words."""

_DASHES = "\u2212\u2010\u2011\u2012\u2013"
_QUOTES = "\u2018\u2019\u201a\u2039\u203a"
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u00ab\u00bb"
_DEGREES = "\u00b0\u00ba\u02da"
_SAME = str.maketrans(
    dict.fromkeys(_DASHES, "-")
    | dict.fromkeys(_QUOTES, "'")
    | dict.fromkeys(_DOUBLE_QUOTES, '"')
    | dict.fromkeys(_DEGREES, "")
)

_SPACED_THOUSANDS = re.compile("(?<=[0-9])[\u00a0\u2007\u2009\u202f](?=[0-9]{3}(?![0-9]))")
"""The spaces that only separate thousands."""

_ENTITY = re.compile(r"&(?:[a-z][a-z0-9]{1,30}|#[0-9]{1,7}|#x[0-9a-f]{1,6});", re.IGNORECASE)

_UNSPACED = re.compile("([\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])")
"""Characters of scripts that put no spaces between words, or join particles to them: each is a word of its own."""

_SIGNED_MONEY = re.compile(r"(?<![\w)\]%.])-[ ]?(?P<currency>[$\u20ac\u00a3\u00a5])[ ]?(?=[0-9])")
"""A sign before the currency: ``-$1,250.75``."""

_MARKUP = re.compile(r"</?(?:b|i|em|strong|code|u|s|span|p|br)(?:\s[^<>]*)?/?>|[*`~#]+|\\[()\[\]]")

_MARKUP_SIGN = re.compile(r"[<*`~#\\]")
"""The first characters of markup."""

_DATE_AND_TIME = re.compile(r"(?<![0-9])([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt](?=[0-9]{2}:[0-9]{2})")

_TIME_SIGN = re.compile("[0-9][Tt][0-9]")
"""Stands between a date and its time."""

_MINUS = re.compile(r"(?<![\w)\]%])(?<![0-9][ ])minus (?=[0-9])")
"""The word as a sign, not between two numbers."""

_TOKEN = re.compile(
    r"""
    (?P<plain>[^\W\d_][^\W_]*(?:(?!'s\b)['_][^\W_]+)*)  # most are words, none of which is any of the next
  | (?P<time>(?<![\w:.])(?P<hour>[0-9]{1,2}):(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9]))?(?![0-9:])
        (?:\s?(?P<half>[ap])\.?m\b\.?)?)
  | (?P<clock>(?<![\w:.])(?P<full>1[0-2]|0?[1-9])\s?(?P<part>[ap])\.?m\b\.?)
  | (?P<dotted>[0-9]+(?:\.[0-9]+){2,}(?![0-9]))
  | (?P<mixed>[0-9]+[^\W0-9_]+[0-9]\w*)
  | (?P<number>(?:(?<![\w.)\]%-])-)?
        (?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,3}(?:'[0-9]{3})+(?![0-9])|[0-9]+)
        (?:\.[0-9]+)?(?:e[+-]?[0-9]{1,3}(?!\w))?)
  | (?P<word>[^\W_]+(?:(?!'s\b)['_][^\W_]+)*)
  | (?P<mark>[^\s_])
    """,
    re.VERBOSE,
)


_AS_THEY_ARE = frozenset({"plain", "dotted", "mixed", "word", "mark"})
"""Kinds of tokens that have one spelling only."""

_LISTED = re.compile(r"(?<![0-9])[0-9]{1,3}(?:,[0-9]{3})+(?=(?P<more>,?[0-9])?)")
"""Numbers with separators of thousands; more digits behind them show a list, such as ``100,200,3``."""

_LIST_MARK = "\ue000"
"""The comma of a list for ``_TOKEN``, which would otherwise look for the end of the list at every number."""


class Token(NamedTuple):
    """A token in its one spelling, and its place in the text that was read."""

    text: str
    start: int
    end: int


def readable(text: str) -> str:
    """Return the text to read tokens from, with compatible characters, one kind of dashes and quotes, and no markup."""
    whole = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text) if "&" in text else text
    # Each search for rare signs takes longer than the search for its mark, and most texts have none.
    same = whole.lower()
    if not whole.isascii():
        spaced = _SPACED_THOUSANDS.sub(",", whole)
        same = normalize("NFKC", normalize("NFKC", spaced.translate(_SAME)).casefold()).translate(_SAME)
    if "-" in same:
        same = _SIGNED_MONEY.sub(r"\g<currency>-", same)
    if not whole.isascii():
        same = _UNSPACED.sub(r" \1 ", same)
    if _MARKUP_SIGN.search(same):
        same = _MARKUP.sub("", same)
    if _TIME_SIGN.search(same):
        same = _DATE_AND_TIME.sub(r"\1 ", same)
    return _MINUS.sub("-", same) if "minus " in same else same


def tokens(text: str) -> list[Token]:
    """Return the tokens of a text that ``readable`` gave.

    A number is known by its value: ``1,984``, ``1984`` and ``1984.0`` are one token, and a unit after it is another.
    A time of the day is known by its minute: ``08:05``, ``8:05 am`` and ``8:05:00`` are one token.
    """
    listed = text
    if "," in text:
        listed = _LISTED.sub(lambda match: match[0].replace(",", _LIST_MARK) if match["more"] else match[0], text)
    return [
        Token(text[found.start() : found.end()] if found.lastgroup in _AS_THEY_ARE else _spelling(found), *found.span())
        for found in _TOKEN.finditer(listed)
    ]


def _spelling(found: re.Match[str]) -> str:
    if found.lastgroup == "number":
        return spelled_number(found[0])
    if found.lastgroup == "clock":
        return spelled_time(int(found["full"]), 0, 0, found["part"])
    return spelled_time(int(found["hour"]), int(found["minute"]), int(found["second"] or 0), found["half"])


def spelled_time(hour: int, minute: int, second: int, half: str | None) -> str:
    """Return a time of the day in its one spelling; ``half`` is ``a`` or ``p`` for hours that count to 12."""
    if half and 1 <= hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


def spelled_number(text: str) -> str:
    """Return the number without separators and insignificant zeros; leading zeros belong to codes, and stay."""
    plain = text.replace(",", "").replace("'", "")
    digits = plain.removeprefix("-")
    if plain.isdecimal() or len(plain) > LONGEST_NUMBER or (digits[0] == "0" and digits[1:2].isdigit()):
        return plain
    try:
        value = Decimal(plain)
    except InvalidOperation:  # an exponent beyond all bounds
        return plain
    return "0" if not value else format(value.normalize(), "f")


MONTHS = (
    "jan gen ene, feb fev, mar maa, apr avr abr, may mai mag mei maj, jun juin giu, "
    "jul juil lug, aug ago aou, sep set, oct okt ott out, nov, dec dez dic"
)
"""The beginnings of the months in English, German, French, Spanish, Italian, Portuguese and Dutch, without accents."""

_BEGINNINGS = {name: month for month, names in enumerate(MONTHS.split(","), 1) for name in names.split()}
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


def dates(text: str) -> list[Token]:
    """Return the full dates of a lower-case text, such as ``3 may 2026``, ``may 3rd, 2026``, ``03.05.2026``, as ISO."""
    days = []
    # Most texts have no year, and are searched for no form.
    for found in (found for form in _FORMS for found in form.finditer(text)) if _YEAR.search(text) else ():
        parts = found.groupdict()
        name = (parts.get("month") or "").translate(_ACCENTS)
        month = _BEGINNINGS.get(name[:3]) or _BEGINNINGS.get(name[:4], 0) if name else int(parts["number"])
        with suppress(ValueError):
            day = date(int(parts["year"]), month, int(parts["day"]))
            days.append(Token(day.isoformat(), *found.span()))
    return days


_DIGIT = re.compile("[0-9]")
"""Occurs in every number that is read here. Most texts have no digits, and are not read further."""

_PARTED = re.compile("[0-9][ .,][0-9]")
"""Stands in every number that has another reading by its separators."""

_YEAR = re.compile("[0-9]{4}")

_START = r"(?<![\w.,:/-])(?P<sign>-?)"
_END = r"(?!\w|[.,:/][0-9])"
_NUMBERS = (
    # 48 213 and 48 213,50; if more follows, it is a list, and its parts are not tried again
    re.compile(
        rf"{_START}(?P<whole>[1-9][0-9]{{0,2}}(?:[ ][0-9]{{3}})+)(?:[.,](?P<fraction>[0-9]+))?"
        rf"(?P<ended>(?![ ][0-9]){_END})?"
    ),
    # 48.213,50 and 1.048.213
    re.compile(rf"{_START}(?P<whole>[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}})+),(?P<fraction>[0-9]+){_END}"),
    re.compile(rf"{_START}(?P<whole>[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}}){{2,}})(?P<fraction>){_END}"),
    # 21,5 but not 48,213
    re.compile(rf"{_START}(?P<whole>[0-9]+),(?P<fraction>[0-9]{{1,2}}|[0-9]{{4,}}){_END}"),
    re.compile(rf"{_START}(?P<whole>0),(?P<fraction>[0-9]+){_END}"),
    # 12,34,567
    re.compile(rf"{_START}(?P<whole>[1-9][0-9]?(?:,[0-9]{{2}})+,[0-9]{{3}})(?:\.(?P<fraction>[0-9]+))?{_END}"),
)
_CONTINENTAL = (
    # 48.213, and 48,213 for what English writes as 48.213
    re.compile(rf"{_START}(?P<whole>[1-9][0-9]{{0,2}}\.[0-9]{{3}})(?P<fraction>){_END}"),
    re.compile(rf"{_START}(?P<whole>[1-9][0-9]{{0,2}}),(?P<fraction>[0-9]{{3}}){_END}"),
)
_DECIMAL_COMMA = _NUMBERS[1:4]

_WORDS = frozenset(
    re.findall(
        r"\w+",
        "der das und ist nicht auf für ein eine einen hat kostet beträgt einwohner uhr "
        "le les est une dans pour avec des sont coûte "
        "una por para con hay cuesta il lo gli della che sono costa het een voor zijn não uma tem",
    )
)
"""Common words of languages that write a comma in fractions; they are not English words."""

ENOUGH_WORDS = 2

_SCALED = re.compile(
    rf"{_START}(?P<whole>[0-9]+)(?:[.,](?P<fraction>[0-9]+))?[ ]?"
    r"(?:(?P<thousand>thousand)|(?P<million>million(?:en)?|millions(?= d[e'])|millones|milioni)"
    r"|(?P<billion>billion)|(?P<trillion>trillion))\b"
)
_NAMED_SCALES = ("thousand", "mil", "billion", "trillion")
"""Every text that has a number with a scale contains one or more of these. Looking for them first is faster."""

_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}

_TIMES = re.compile(
    r"(?<![\w.:])(?P<hour>[01]?[0-9]|2[0-3])(?:[.:](?P<minute>[0-5][0-9]))?[ ]?uhr(?:[ ](?P<later>[0-5][0-9]))?\b"
    r"|(?<![\w.:])(?P<full>[01]?[0-9]|2[0-3])[ ]?h(?:[ ]?(?P<past>[0-5][0-9]))?\b"
    r"|\b(?:at|from|until|till|to|by|around|um|ab|bis|alle|dalle|kl\.|kello|om)[ ]"
    r"(?P<dotted>[01]?[0-9]|2[0-3])\.(?P<minutes>[0-5][0-9])(?![\w:%]|[.,][0-9]|[ ]?[ap]\.?m\b)"
    r"|(?<![\w.:])(?P<english>0?[1-9]|1[0-2])\.(?P<after>[0-5][0-9])[ ]?(?P<half>[ap])\.?m\b\.?"
    r"|(?:\b12[ ])?\b(?P<name>noon|midnight)\b"
    r"|(?<![\w.:])(?P<dial>0?[1-9]|1[0-2])(?::(?P<hand>[0-5][0-9]))?"
    r"(?:[ ]o'clock(?:[ ](?:in[ ]the|at)[ ](?P<part>\w+))?"
    r"|[ ](?:in[ ]the|at)[ ](?P<day>morning|afternoon|evening|night))\b"
)

_HOUR = re.compile(r"[0-9](?:[ ]?h|\.[0-5])")
_OF_TIMES = ("uhr", "noon", "night", "morning", "evening", "o'clock")
"""Every text that has such a time of the day contains an hour with these signs, or any of these words."""


def scaled_numbers(text: str) -> list[Token]:
    """Return the numbers with a scale, ``5 million``, which say nothing of the number without it.

    Args:
        text: that ``readable`` gave.
    """
    found = []
    for match in _SCALED.finditer(text) if any(map(text.__contains__, _NAMED_SCALES)) and _DIGIT.search(text) else ():
        number = match["whole"] + (f".{match['fraction']}" if match["fraction"] else "")
        if len(number) <= LONGEST_NUMBER and match.lastgroup:
            value = Decimal(match["sign"] + number).scaleb(_SCALES[match.lastgroup])
            found.append(Token(spelled_number(format(value, "f")), *match.span()))
    return found


def second_readings(text: str) -> list[Token]:
    """Return the numbers and times of a text that another convention reads differently, in order, without overlaps.

    ``48 213`` is one number, ``21,5`` is 21.5, ``5 million`` is 5000000, ``20.05 uhr``, ``20h05`` and ``at 20.05`` are
    a time. If other words or numbers show that the text is in a language with a comma in fractions, ``48.213`` is
    48213.

    Args:
        text: that ``readable`` gave.
    """
    found = list[Token]()
    forms: tuple[re.Pattern[str], ...] = _NUMBERS
    if not (_DIGIT.search(text) and _PARTED.search(text)):
        forms = ()
    elif (
        any(form.search(text) for form in _DECIMAL_COMMA)
        or len(_WORDS.intersection(re.findall(r"[^\W\d_]+", text))) >= ENOUGH_WORDS
    ):
        forms += _CONTINENTAL
    for form in forms:
        for match in form.finditer(text):
            if "ended" not in form.groupindex or match["ended"] is not None:
                whole = match["sign"] + re.sub("[^0-9]", "", match["whole"])
                number = spelled_number(f"{whole}.{match['fraction']}" if match["fraction"] else whole)
                found.append(Token(number, *match.span()))
    found += scaled_numbers(text)
    if any(map(text.__contains__, _OF_TIMES)) or _HOUR.search(text):
        found += [Token(_time(match), *match.span()) for match in _TIMES.finditer(text)]
    kept: list[Token] = []
    for token in sorted(found, key=lambda token: (token.start, -token.end)):
        if not kept or token.start >= kept[-1].end:
            kept.append(token)
    return kept


def merge(tokens: list[Token], readings: list[Token]) -> list[Token]:
    """Return the tokens with each second reading in the place of the first."""
    if not readings:
        return tokens
    ends, kept = [reading.end for reading in readings], list(readings)
    for token in tokens:
        place = bisect_right(ends, token.start)  # of the first reading that ends behind the token
        if place == len(readings) or token.end <= readings[place].start:
            kept.append(token)
    return sorted(kept, key=lambda token: token.start)


def _time(match: re.Match[str]) -> str:
    if match["name"]:
        return "12:00" if match["name"] == "noon" else "00:00"
    if match["english"]:
        return spelled_time(int(match["english"]), int(match["after"]), 0, match["half"])
    if match["dial"]:
        late = (match["part"] or match["day"]) in ("afternoon", "evening", "night")
        half = ("p" if late else "a") if match["part"] or match["day"] else None
        return spelled_time(int(match["dial"]), int(match["hand"] or 0), 0, half)
    hour = match["hour"] or match["full"] or match["dotted"]
    minute = match["minute"] or match["later"] or match["past"] or match["minutes"] or "0"
    return spelled_time(int(hour), int(minute), 0, None)
