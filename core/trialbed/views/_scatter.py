"""Plots of points on two axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trialbed.views._figures import compact
from trialbed.views._scale import Scale

LEFT, RIGHT = 64, 230
TOP, BOTTOM = 24, 44
AREA_WIDTH, AREA_HEIGHT = 480, 260
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "ring")


@dataclass(frozen=True)
class Mark:
    """A point with both its coordinates.

    Attributes:
        label: its name, beside it and in the legend.
        x, y: None draws no mark.
        text: the figures in words.
        interval: of ``y``; None where there is none.
    """

    label: str
    x: float | None
    y: float | None
    text: str = ""
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class ScatterPlot:
    """Points on two axes; each has a shape and a number beside its colour, so that colour alone distinguishes none.

    Attributes:
        title: names the contents.
        x_title, y_title: name the axes, with their units.
        y_limits: the ends of the vertical axis; None is from the least to the greatest that is drawn.
    """

    title: str
    x_title: str
    y_title: str
    marks: Sequence[Mark]
    y_limits: tuple[float, float] | None = None

    template = "scatter"
    width = LEFT + AREA_WIDTH + RIGHT
    left, top = LEFT, TOP
    right, bottom = LEFT + AREA_WIDTH, TOP + AREA_HEIGHT

    @property
    def height(self) -> int:
        """The height of the drawing, with a line of the legend for each mark."""
        return max(TOP + AREA_HEIGHT + BOTTOM, 24 + 20 * len(self.marks))

    @property
    def points(self) -> list[tuple[int, Mark, float, float, str]]:
        """Number, mark, position and shape of all that is drawn."""
        return [
            (place, mark, self.x_scale.at(mark.x), self.y_scale.at(mark.y), SHAPES[place % len(SHAPES)])
            for place, mark in enumerate(self.marks)
            if mark.x is not None and mark.y is not None
        ]

    @property
    def x_scale(self) -> Scale:
        """From 0 on, as a cost has."""
        return Scale.of([0.0, *(mark.x for mark in self.marks if mark.x is not None)], self.left, self.right)

    @property
    def y_scale(self) -> Scale:
        """Upwards."""
        if self.y_limits is not None:
            return Scale(*self.y_limits, self.bottom, self.top)
        return Scale.of([mark.y for mark in self.marks if mark.y is not None], self.bottom, self.top)

    @property
    def description(self) -> str:
        """The plot in words."""
        return "; ".join(
            f"{mark.label}: {mark.text or f'{self.x_title} {compact(mark.x)}, {self.y_title} {compact(mark.y)}'}"
            for mark in self.marks
        )
