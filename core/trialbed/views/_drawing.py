"""The measures that drawings share: a wide one and one for a telephone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Self

WIDE, NARROW = 680, 400
"""The width of a drawing on a screen, at which its texts are as large as small ones of a page, and on a telephone."""
EDGE = 8
LETTER, LONGEST = 7.5, 36
"""Pixels that a letter takes on average, and the letters of a name that a wide drawing has room for."""
THIN, BROAD = frozenset(" .,:;'|!-()[]/fijlrtI"), frozenset("mwMW@%+=<>")
"""Characters that are narrower than others, and wider ones."""


def fit_label(text: str, characters: int) -> str:
    """Return a label in this many characters: of a longer one its beginning and its end, which differs from others."""
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


@dataclass(frozen=True)
class Drawing:
    """A plot that can be drawn wide, and narrow for a telephone.

    Attributes:
        narrow: whether it is drawn for a telephone.
    """

    narrow: bool = field(default=False, kw_only=True)

    @property
    def for_telephone(self) -> Self:
        """The same for a telephone."""
        return replace(self, narrow=True)
