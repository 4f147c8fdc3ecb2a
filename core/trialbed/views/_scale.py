"""From values to positions on a drawing."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from trialbed.views._figures import compact

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
