"""Places for the names of points, so that none lies on another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

CHARACTER, LINE = 7.0, 16
"""The width and the height that a character of a label takes."""
MARK = 7
"""Half the width of a mark."""
BESIDE = 11
STEPS = (0, -1, 1, -2, 2, -3, 3)
"""Lines up or down that a label is moved at most, the nearest first."""


def fit_label(text: str, characters: int) -> str:
    """Return a label in this many characters: of a longer one its beginning and its end, which differs from others."""
    if len(text) <= characters:
        return text
    start = characters // 3
    return f"{text[:start]}…{text[start + 1 - characters :]}"


class PlacedLabel(NamedTuple):
    """A label with the place of its text, and of the mark that it names."""

    text: str
    x: float
    y: float
    anchor: str
    mark: tuple[float, float]

    @property
    def is_apart(self) -> bool:
        """True where the label is so far from its mark that a line has to lead there."""
        return abs(self.y - 4 - self.mark[1]) > LINE


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def is_in(self, other: _Box) -> bool:
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.top >= other.top
            and self.bottom <= other.bottom
        )


def place_labels(
    marks: Sequence[tuple[str, float, float]], bounds: tuple[float, float, float, float]
) -> list[PlacedLabel] | None:
    """Return a place for each label at which it covers no mark and no other label; None if there is no room.

    Args:
        marks: label and position of each.
        bounds: left, top, right and bottom of the room for labels.
    """
    taken = [_Box(x - MARK, y - MARK, x + MARK, y + MARK) for _, x, y in marks]
    found = []
    for text, x, y in marks:
        for label, box in _candidates(text, x, y):
            if box.is_in(_Box(*bounds)) and not any(box.meets(other) for other in taken):
                found.append(label)
                taken.append(box)
                break
        else:
            return None
    return found


def _candidates(text: str, x: float, y: float) -> Iterator[tuple[PlacedLabel, _Box]]:
    width = CHARACTER * len(text)
    for step in STEPS:
        middle = y + LINE * step
        top, bottom = middle - LINE / 2, middle + LINE / 2
        right, left = x + BESIDE, x - BESIDE
        yield PlacedLabel(text, right, middle + 4, "start", (x, y)), _Box(right, top, right + width, bottom)
        yield PlacedLabel(text, left, middle + 4, "end", (x, y)), _Box(left - width, top, left, bottom)
