"""Distributions as curves: the share of values up to each value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from trialbed.statistics import quantile
from trialbed.views._drawing import BOTTOM, EDGE, LEGEND_ROW, LETTER, LONGEST, NARROW, AxesPlot, room_for
from trialbed.views._figures import compact
from trialbed.views._scale import Scale

BESIDE, SAMPLE = 10, 34
"""Pixels between the axes and the legend, and of the piece of a curve before its label."""
STEPS = 200
"""Steps that a curve is drawn with at most."""
DASHES = ("", "7 4", "2 3", "10 3 2 3", "4 2")
ROUND = (1, 2, 5)


@dataclass(frozen=True)
class Curve:
    """A sample.

    Attributes:
        label: its name.
        values: in any order, above 0.
    """

    label: str
    values: Sequence[float]


@dataclass(frozen=True)
class DistributionPlot(AxesPlot):
    """Samples as curves that rise from 0 to 1, on a logarithmic axis; each has dashes of its own beside its colour.

    Attributes:
        title: names the contents.
        x_title: names the values, with their unit.
        y_title: names the shares.
    """

    title: str
    x_title: str
    curves: Sequence[Curve]
    y_title: str = "share of answers"

    template = "curves"
    area_height = 240

    @property
    def beside(self) -> int:
        """Pixels for the labels of the curves."""
        return BESIDE + SAMPLE + room_for(curve.label for curve in self.curves)

    @property
    def letters(self) -> int:
        """The letters that a label has room for."""
        return int((NARROW - EDGE - SAMPLE) / LETTER) if self.narrow else LONGEST

    @property
    def legend(self) -> tuple[int, int]:
        """The position of the names of the curves: beside the axes, or below them."""
        return (EDGE, self.bottom + BOTTOM + 10) if self.narrow else (self.right + BESIDE, LEGEND_ROW)

    @property
    def height(self) -> int:
        """The height of the drawing, with a line of the legend for each curve."""
        return max(self.bottom + BOTTOM, self.legend[1] + 4 + LEGEND_ROW * len(self.curves))

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value on the axis."""
        known = [curve.values for curve in self.curves if curve.values]
        every = [end for values in known for end in (min(values), max(values))]
        low, high = (min(every), max(every)) if every else (1.0, 10.0)
        return low / 1.1, high * 1.1

    @property
    def x_scale(self) -> Scale:
        """The scale of the logarithms of the values."""
        low, high = self.ends
        return Scale(math.log10(low), math.log10(high), self.left, self.right)

    @property
    def y_scale(self) -> Scale:
        """The scale of shares, upwards."""
        return Scale(0.0, 1.0, self.bottom, self.top)

    @property
    def x_ticks(self) -> list[tuple[float, str]]:
        """The positions of round values, with the values."""
        low, high = self.ends
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        values = [factor * 10.0**power for power in powers for factor in ROUND]
        return [(self.x_scale.at(math.log10(value)), compact(value)) for value in values if low <= value <= high]

    @property
    def paths(self) -> list[tuple[int, Curve, str, str]]:
        """Number, curve, path and dashes of each sample that has values."""
        return [
            (number, curve, self._path(curve.values), DASHES[number % len(DASHES)])
            for number, curve in enumerate(self.curves)
            if curve.values
        ]

    @property
    def description(self) -> str:
        """The plot in words."""
        return "; ".join(f"{curve.label}: {_in_words(curve.values)}" for curve in self.curves)

    def _path(self, values: Sequence[float]) -> str:
        ordered = sorted(values)
        count = min(len(ordered), STEPS)
        found = [f"M{self.x_scale.at(math.log10(ordered[0]))} {self.bottom}"]
        for step in range(1, count + 1):
            place = math.ceil(step * len(ordered) / count)
            x, y = self.x_scale.at(math.log10(ordered[place - 1])), self.y_scale.at(place / len(ordered))
            found.append(f"H{x}V{y}")
        return "".join(found)


def _in_words(values: Sequence[float]) -> str:
    if not values:
        return "not known"
    ordered = sorted(values)
    half, most = (compact(quantile(ordered, share)) for share in (0.5, 0.95))
    return f"half up to {half}, 95 % up to {most}, n={len(ordered)}"
