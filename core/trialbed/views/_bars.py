"""Bars of parts, and spans on a common line of time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from trialbed.views._drawing import AXIS, EDGE, WIDTH, text_width
from trialbed.views._figures import compact
from trialbed.views._rows import RowPlot
from trialbed.views._scale import Scale

ROW, HEAD = 28, 30
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
        return max([HEAD, *(HEAD - 6 + y for _, _, y in self.legend)])

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
