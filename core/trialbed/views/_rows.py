"""The places of the rows of a plot: beside their labels, or on a narrow drawing below them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

from trialbed.views._drawing import EDGE, LETTER, LONGEST, NARROW, WIDE, Drawing, room_for

BESIDE = 10
"""Pixels between the drawing and the texts beside it."""

AXIS = 26
TEXT = 20
"""Pixels for the line of texts above each row of a narrow drawing."""


APART = 8
"""Pixels below each row of a narrow drawing, so that it is nearer to its own texts than to the next ones."""


class TextPlace(NamedTuple):
    """A position of a text, and which part of the text stands there: its start or its end."""

    x: float
    y: float
    anchor: str


class RowLayout(NamedTuple):
    """The measures of a plot of rows.

    Attributes:
        width: of the whole drawing.
        start, end: of the part that is drawn on.
        row: the height of a row, with its texts.
        texts: the height of the line of texts above a row; 0 where they stand beside it.
        letters: of a label, for which there is room.
    """

    width: int
    start: int
    end: int
    row: int
    texts: int
    letters: int

    @classmethod
    def of(cls, labels: Sequence[str], figures: Sequence[str], row: int, *, narrow: bool) -> RowLayout:
        """Return the layout of rows with these texts; what these leave of the width is for the drawing."""
        beside = BESIDE + room_for(figures)
        if narrow:
            letters = int((NARROW - 2 * EDGE - beside) / LETTER)
            return cls(NARROW, EDGE, NARROW - EDGE, row + TEXT + APART, TEXT, letters)
        return cls(WIDE, BESIDE + room_for(labels), WIDE - beside, row, 0, LONGEST)

    def label(self, top: float) -> TextPlace:
        """Return where the label of the row that begins here stands."""
        if self.texts:
            return TextPlace(EDGE, top + 15, "start")
        return TextPlace(self.start - BESIDE, self.middle(top) + 4, "end")

    def figure(self, top: float) -> TextPlace:
        """Return where the figures in words of the row that begins here stand."""
        if self.texts:
            return TextPlace(self.end, top + 15, "end")
        return TextPlace(self.end + BESIDE, self.middle(top) + 4, "start")

    def middle(self, top: float) -> float:
        """Return the middle of the drawing of the row that begins here."""
        return top + (self.row + self.texts - (APART if self.texts else 0)) / 2


@dataclass(frozen=True)
class RowPlot(Drawing, ABC):
    """A plot of rows on one axis, each with its label and its figures.

    Attributes:
        row, narrow_row: the height of a row without its texts, on a wide drawing and on a narrow one.
    """

    row: ClassVar[int]
    narrow_row: ClassVar[int]

    @property
    @abstractmethod
    def texts(self) -> Sequence[tuple[str, str]]:
        """The label and the figures of each row."""

    @cached_property
    def layout(self) -> RowLayout:
        """The places of its rows."""
        labels, figures = ([texts[place] for texts in self.texts] for place in (0, 1))
        return RowLayout.of(labels, figures, self.narrow_row if self.narrow else self.row, narrow=self.narrow)

    @property
    def width(self) -> int:
        """The width of the drawing."""
        return self.layout.width

    @property
    def height(self) -> int:
        """The height of the drawing."""
        return self.bottom + AXIS

    @property
    @abstractmethod
    def bottom(self) -> int:
        """The vertical position of the axis."""
