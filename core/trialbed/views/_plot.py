"""Plots of points with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trialbed.views._figures import compact
from trialbed.views._rows import RowPlot
from trialbed.views._scale import Scale

HEAD = 8


@dataclass(frozen=True)
class PlotPoint:
    """One row of a plot.

    Attributes:
        label: the row's name.
        value: None draws no point, because it is not known.
        low, high: the interval; None without one.
        text: the figure in words, next to the point and for readers that do not see the plot.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    text: str = ""


@dataclass(frozen=True)
class IntervalPlot(RowPlot):
    """Points with their intervals, one below the other, on one axis.

    Attributes:
        title: names the contents, with the unit if there is one.
        points: one row each.
        limits: the ends of the axis; None is from the least to the greatest that is drawn.
        zero: the place of a line to compare with, such as no difference.
        marks: the places of broken lines, such as margins.
    """

    title: str
    points: Sequence[PlotPoint]
    limits: tuple[float, float] | None = None
    zero: float | None = None
    marks: Sequence[float] = ()

    template = "intervals"
    row = 14

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The label and the figures of each row."""
        return [(point.label, point.text) for point in self.points]

    @property
    def bottom(self) -> int:
        """The vertical position of the axis."""
        return self.top(len(self.points))

    @property
    def description(self) -> str:
        """The plot in words."""
        return "; ".join(f"{point.label}: {point.text or compact(point.value)}" for point in self.points)

    @property
    def scale(self) -> Scale:
        """The limits, or from the least to the greatest that is drawn."""
        if self.limits is not None:
            return Scale(*self.limits, self.start, self.end)
        ends = [end for point in self.points for end in (point.value, point.low, point.high)]
        return Scale.of((value for value in (*ends, self.zero, *self.marks) if value is not None), self.start, self.end)

    def top(self, row: int) -> int:
        """Return the distance of a row's beginning from the top."""
        return HEAD + self.step * row

    def y(self, row: int) -> float:
        """Return the distance of a row's middle from the top."""
        return self.middle(self.top(row))
