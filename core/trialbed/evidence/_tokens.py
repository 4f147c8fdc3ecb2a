"""Texts as tokens in one spelling, to compare them by meaning."""

from __future__ import annotations

import html
import re
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
