"""The measures that drawings share. They are as wide as a telephone, to be readable on one."""

from __future__ import annotations

from collections.abc import Iterable

WIDTH = 400
EDGE = 8
AXIS = 26
"""Pixels below a plot for the numbers of its axis."""

LETTER, LONGEST = 7.5, 36
"""Pixels that a letter takes on average, and the letters of a name at most."""
THIN, BROAD = frozenset(" .,:;'|!-()[]/fijlrtI"), frozenset("mwMW@%+=<>")
"""Characters that are narrower than others, and wider ones."""


def fit_label(text: str, characters: int) -> str:
    """Return a label in this many characters. A longer one keeps its beginning and its distinctive end."""
    if len(text) <= characters:
        return text
    start = characters // 3
    return f"{text[:start]}…{text[start + 1 - characters :]}"


def text_width(text: str) -> float:
    """Return about how many pixels a text takes in a broad type, as browsers have one by themselves."""
    return sum(5.0 if one in THIN else 11.0 if one in BROAD else 8.3 for one in text)


def room_for(texts: Iterable[str]) -> int:
    """Return the pixels that the widest of these texts takes, of so many letters at most as there is room for."""
    return round(max(map(text_width, (fit_label(text, LONGEST) for text in texts)), default=0.0))
