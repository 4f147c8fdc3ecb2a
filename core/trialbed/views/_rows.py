"""The places of the rows of a plot: beside their labels, or on a narrow drawing below them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from trialbed.views._drawing import EDGE, NARROW, Drawing

LABELS = 200
"""Pixels for the labels, on the left of a wide drawing."""

AXIS = 26
TEXT = 20
"""Pixels for the line of texts above each row of a narrow drawing."""


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
    """

    width: int
    start: int
    end: int
    row: int
    texts: int

    @classmethod
    def of(cls, area: int, figures: int, row: int, *, narrow: bool) -> RowLayout:
        """Return the layout of rows with this much room for the drawing and for the figures beside it."""
        if narrow:
            return cls(NARROW, EDGE, NARROW - EDGE, row + TEXT, TEXT)
        return cls(LABELS + area + figures, LABELS, LABELS + area, row, 0)

    def label(self, top: float) -> TextPlace:
        """Return where the label of the row that begins here stands."""
        return (
            TextPlace(EDGE, top + 15, "start") if self.texts else TextPlace(self.start - 10, self._beside(top), "end")
        )

    def figure(self, top: float) -> TextPlace:
        """Return where the figures in words of the row that begins here stand."""
        return (
            TextPlace(self.end, top + 15, "end") if self.texts else TextPlace(self.end + 10, self._beside(top), "start")
        )

    def middle(self, top: float) -> float:
        """Return the middle of the drawing of the row that begins here."""
        return top + (self.row + self.texts) / 2

    def _beside(self, top: float) -> float:
        return self.middle(top) + 4


@dataclass(frozen=True)
class RowPlot(Drawing, ABC):
    """A plot of rows on one axis, each with its label and its figures.

    Attributes:
        area, figures: pixels for what is drawn, and for the figures beside it.
        row: the height of a row without its texts.
    """

    area: ClassVar[int]
    figures: ClassVar[int]
    row: ClassVar[int]

    @property
    def layout(self) -> RowLayout:
        """The places of its rows."""
        return RowLayout.of(self.area, self.figures, self.row, narrow=self.narrow)

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
