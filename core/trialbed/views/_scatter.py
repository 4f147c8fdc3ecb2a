"""Plots of points on two axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from trialbed.views._drawing import EDGE, LETTER, WIDTH
from trialbed.views._figures import compact
from trialbed.views._scale import Scale

TOP, BOTTOM = 24, 44
AREA = 260
"""Pixels between the ends of the vertical axis."""
LEGEND_ROW = 20
NEAR = 16
"""Pixels up to which marks share a label: the height of a line."""
APART = 11
"""Pixels from a mark to its number."""
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "ring")


@dataclass(frozen=True)
class Mark:
    """A point with both its coordinates.

    Attributes:
        label: its name, in the legend.
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
    """Points on two axes; each has a shape and a number, so that colour alone distinguishes none.

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
    width, letters = WIDTH, int((WIDTH - 2 * EDGE) / LETTER)
    left, right = 44, WIDTH - 2 * EDGE
    top, bottom = TOP, TOP + AREA

    @property
    def has_one_place(self) -> bool:
        """True where all marks lie in one place, so that there is nothing to tell apart."""
        return len({(mark.x, mark.y) for mark in self.marks if mark.x is not None and mark.y is not None}) < 2

    @property
    def height(self) -> int:
        """The height of the drawing, with a line of the legend for each mark."""
        last = max((y for _, _, y in self.legend), default=0)
        return max(self.bottom + BOTTOM, last + LEGEND_ROW // 2)

    @property
    def legend(self) -> list[tuple[str, int, int]]:
        """The names of the numbered marks with their places."""
        first = self.bottom + BOTTOM + 14
        rows = enumerate(self.marks)
        return [(_legend_text(place + 1, mark), EDGE, first + LEGEND_ROW * place) for place, mark in rows]

    @property
    def points(self) -> list[tuple[int, Mark, float, float, str]]:
        """Number, mark, position and shape of all that is drawn."""
        return [
            (place, mark, self.x_scale.at(mark.x), self.y_scale.at(mark.y), SHAPES[place % len(SHAPES)])
            for place, mark in enumerate(self.marks)
            if mark.x is not None and mark.y is not None
        ]

    @property
    def labels(self) -> list[tuple[str, float, float]]:
        """The numbers beside marks, all of one place together, with their positions."""
        places: dict[tuple[float, float], list[str]] = {}
        for number, _, x, y, _ in self.points:
            near = next((place for place in places if math.dist(place, (x, y)) < NEAR), (x, y))
            places.setdefault(near, []).append(str(number + 1))
        return [(", ".join(numbers), x + APART, y + 4) for (x, y), numbers in places.items()]

    @property
    def x_scale(self) -> Scale:
        """From the least to the greatest that is drawn."""
        return Scale.of((mark.x for mark in self.marks if mark.x is not None), self.left, self.right)

    @property
    def y_scale(self) -> Scale:
        """Upwards: the limits, or from the least to the greatest that is drawn."""
        if self.y_limits is not None:
            return Scale(*self.y_limits, self.bottom, self.top)
        ends = [end for mark in self.marks if mark.interval is not None for end in mark.interval]
        return Scale.of([*ends, *(mark.y for mark in self.marks if mark.y is not None)], self.bottom, self.top)

    @property
    def description(self) -> str:
        """The plot in words."""
        return "; ".join(
            f"{mark.label}: {mark.text or f'{self.x_title} {compact(mark.x)}, {self.y_title} {compact(mark.y)}'}"
            for mark in self.marks
        )


def _legend_text(number: int, mark: Mark) -> str:
    return f"{number} {mark.label}" + ("" if mark.x is not None and mark.y is not None else ": not known")
