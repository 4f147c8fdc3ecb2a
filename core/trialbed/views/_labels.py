"""Places for the names of points, so that none lies on another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
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


def place_labels(
    marks: Sequence[tuple[str, float, float]], bounds: tuple[float, float, float, float]
) -> list[PlacedLabel] | None:
    """Return a place for each label at which it covers no mark and no other label; None if there is no room.

    Args:
        marks: label and position of each.
        bounds: left, top, right and bottom of the room for labels.
    """
    left, top, right, bottom = bounds
    taken = [(x - MARK, y - MARK, x + MARK, y + MARK) for _, x, y in marks]
    found = []
    for text, x, y in marks:
        for step, side in product(STEPS, (1, -1)):
            start, middle = x + side * BESIDE, y + LINE * step
            end = start + side * CHARACTER * len(text)
            box = min(start, end), middle - LINE / 2, max(start, end), middle + LINE / 2
            is_inside = left <= box[0] and box[2] <= right and top <= box[1] and box[3] <= bottom
            if is_inside and not any(
                box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3] for other in taken
            ):
                found.append(PlacedLabel(text, start, middle + 4, "start" if side > 0 else "end", (x, y)))
                taken.append(box)
                break
        else:
            return None
    return found
