"""Plots: intervals, bars of parts, and spans on a line of time.

They are as wide as a telephone, to be readable on one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from trialbed.views._figures import compact

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


TICKS = 5


@dataclass(frozen=True)
class Scale:
    """An axis.

    Attributes:
        low, high: the values at its ends; they differ.
        start, end: the positions of the ends.
    """

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def of(cls, values: Iterable[float], start: float, end: float) -> Scale:
        """Return an axis that holds these values, with some room at its ends, but not below 0 for values from 0 on."""
        known = list(values)
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        # Values that hardly differ must not look as if they did.
        room = max(high - low, abs(low), abs(high)) / 20 or 1.0
        return cls(low - room if low < 0 else max(0.0, low - room), high + room, start, end)

    def at(self, value: float) -> float:
        """Return the position of a value; what lies beyond an end is put there."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The positions of round numbers, with the numbers."""
        step = round_step((self.high - self.low) / TICKS)
        numbers = range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)
        return [(self.at(number * step), compact(number * step)) for number in numbers]


def round_step(least: float) -> float:
    """Return the next of 1, 2, 5, 10, 20 … that is at least this much."""
    power: float = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


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


ROW, LEGEND_HEAD = 28, 30
LANES = 84
"""Pixels for the names of lanes."""
LEGEND_MARK, LEGEND_GAP, LEGEND_ROW = 17, 12, 18
"""Pixels of a legend's mark, of the space behind its name, and of a line."""


@dataclass(frozen=True)
class Bar:
    """A bar of parts.

    Attributes:
        label: its name.
        parts: name of the part -> its size, 0 or more.
        text: shown next to the bar; None is the sum of its parts.
    """

    label: str
    parts: Mapping[str, float]
    text: str | None = None

    @property
    def total(self) -> float:
        """The sum of its parts."""
        return sum(self.parts.values())

    @property
    def figures(self) -> str:
        """Return the text next to the bar."""
        return compact(self.total) if self.text is None else self.text


@dataclass(frozen=True)
class BarPlot(RowPlot):
    """Bars below each other on one axis, with differently filled parts that the legend names.

    Attributes:
        title: names the contents, with the unit.
        bars: one row each.
        good: the parts that are a success; then all others are losses, and the colours say so.
        order: names of parts in the order of the legend, before any others.
    """

    title: str
    bars: Sequence[Bar]
    good: Collection[str] = ()
    order: Sequence[str] = ()

    template = "bars"
    row = ROW

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The label and the figures of each row."""
        return [(bar.label, bar.figures) for bar in self.bars]

    @property
    def bottom(self) -> int:
        """The vertical position of the axis."""
        return self.top + self.step * len(self.bars)

    @property
    def top(self) -> int:
        """The vertical position of the first bar, below the legend."""
        return max([LEGEND_HEAD, *(LEGEND_HEAD - 6 + y for _, _, y in self.legend)])

    @property
    def legend(self) -> list[tuple[str, int, int]]:
        """The name of each part with the position of its mark."""
        found = []
        x, y = self.start, 6
        for name in self.names:
            width = LEGEND_MARK + round(text_width(name))
            if x > self.start and x + width > self.width:
                x, y = self.start, y + LEGEND_ROW
            found.append((name, x, y))
            x += width + LEGEND_GAP
        return found

    def fill(self, name: str, colours: int) -> str:
        """Return the class of a part, which gives its colour out of so many."""
        if not self.good:
            return f"part-{self.names.index(name) % colours}"
        if name in self.good:
            return "part-good"
        return f"loss-{[other for other in self.names if other not in self.good].index(name) % colours}"

    @property
    def scale(self) -> Scale:
        """From 0 to the longest bar."""
        longest = max((bar.total for bar in self.bars), default=0.0)
        return Scale(0.0, longest * 1.02 or 1.0, self.start, self.end)

    @property
    def names(self) -> list[str]:
        """The labels of all parts, each once."""
        used = dict.fromkeys(name for bar in self.bars for name in bar.parts)
        return [*(name for name in self.order if name in used), *(name for name in used if name not in self.order)]

    @property
    def rows(self) -> list[tuple[Bar, int, list[tuple[int, str, float, float, float]]]]:
        """Return each bar with its vertical position and its parts (number, name, start, width, size)."""
        found = []
        for place, bar in enumerate(self.bars):
            parts: list[tuple[int, str, float, float, float]] = []
            begun = 0.0
            for name, size in bar.parts.items():
                start = self.scale.at(begun)
                begun += size
                parts.append((self.names.index(name), name, start, round(self.scale.at(begun) - start, 1), size))
            found.append((bar, self.top + self.step * place, parts))
        return found

    @property
    def description(self) -> str:
        """The plot in words."""
        return "; ".join(
            f"{bar.label}: " + ", ".join(f"{name} {compact(size)}" for name, size in bar.parts.items())
            for bar in self.bars
        )


@dataclass(frozen=True)
class BarSpan:
    """Something that took time.

    Attributes:
        lane: the row it is drawn in.
        label: its name.
        start, length: seconds.
        alarming: whether something went wrong in it.
    """

    lane: str
    label: str
    start: float
    length: float
    alarming: bool = False


@dataclass(frozen=True)
class Timeline:
    """Spans in lanes on one line of time.

    Attributes:
        title: names the contents.
        lanes: their names, from the top.
        spans: in any order.
        total: seconds that the line is long at least.
    """

    title: str
    lanes: Sequence[str]
    spans: Sequence[BarSpan]
    total: float = 0.0

    template = "timeline"
    width = WIDTH

    @property
    def height(self) -> int:
        """The height of the drawing."""
        return self.bottom + AXIS

    @property
    def bottom(self) -> int:
        """The vertical position of the axis."""
        return 8 + ROW * len(self.lanes)

    @property
    def length(self) -> float:
        """Seconds that the line is long."""
        return max([self.total, *(span.start + span.length for span in self.spans)])

    @property
    def scale(self) -> Scale:
        """Seconds from the beginning."""
        return Scale(0.0, self.length or 1.0, LANES, self.width - 2 * EDGE)

    @property
    def rectangles(self) -> list[tuple[BarSpan, float, float, int, int]]:
        """Each span with its start, width, vertical position and the number of its lane."""
        found = []
        for span in self.spans:
            lane, start = self.lanes.index(span.lane), self.scale.at(span.start)
            width = max(2.0, round(self.scale.at(span.start + span.length) - start, 1))
            found.append((span, start, width, 8 + ROW * lane, lane))
        return found

    @property
    def description(self) -> str:
        """The plot in words."""
        return "; ".join(
            f"{span.lane} {span.label}: from {span.start:.3f} s for {span.length:.3f} s" for span in self.spans
        )
