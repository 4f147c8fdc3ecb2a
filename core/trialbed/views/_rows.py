"""The places of rows in a plot, each below its label and its figures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from trialbed.views._drawing import AXIS, EDGE, LETTER, WIDTH, room_for

BESIDE = 10
"""Pixels between the label and the figures of a row."""

TEXT = 20
"""Pixels for the line of texts above each row."""

APART = 8
"""Pixels below each row, which keep it nearer to its own texts than to the next ones."""


@dataclass(frozen=True)
class RowPlot(ABC):
    """A plot of rows on one axis, each with its label and its figures.

    Attributes:
        row: the height of a row without its texts.
        start, end: of the part that is drawn on.
    """

    row: ClassVar[int]
    width: ClassVar[int] = WIDTH
    start: ClassVar[int] = EDGE
    end: ClassVar[int] = WIDTH - EDGE

    @property
    @abstractmethod
    def texts(self) -> Sequence[tuple[str, str]]:
        """The label and the figures of each row."""

    @property
    def letters(self) -> int:
        """How many letters of a label there is room for."""
        return int((self.end - self.start - BESIDE - room_for(figures for _, figures in self.texts)) / LETTER)

    @property
    def step(self) -> int:
        """The height of a row with its texts."""
        return self.row + TEXT + APART

    def middle(self, top: float) -> float:
        """Return the middle of the row that begins here."""
        return top + TEXT + self.row / 2

    @property
    def height(self) -> int:
        """The height of the drawing."""
        return self.bottom + AXIS

    @property
    @abstractmethod
    def bottom(self) -> int:
        """The vertical position of the axis."""
