"""Rates over rows, with intervals that keep the trials of a case together."""

from __future__ import annotations

from array import array
from typing import Any

from trialbed.statistics import clustered_interval

WIDEST_GAP = 1 << 20
"""Line numbers beyond which cases are not counted by their place: no test set has so many lines."""


class CaseRate:
    """A share of successes, counted case by case in a few bytes each."""

    def __init__(self) -> None:
        self.successes = self.total = 0
        self._parts = array("I")
        self._wholes = array("I")

    def add(self, line: int, *, success: bool) -> None:
        """Count an observation of the case on a line of the test set."""
        self.successes += success
        self.total += 1
        place = line if 0 <= line < WIDEST_GAP else line % WIDEST_GAP
        if place >= len(self._wholes):
            more = bytes(self._wholes.itemsize * (place + 1 - len(self._wholes)))
            self._parts.frombytes(more)
            self._wholes.frombytes(more)
        self._parts[place] += success
        self._wholes[place] += 1

    def as_json(self) -> dict[str, Any] | None:
        """The share with its 95 % interval; None if nothing was counted."""
        if not self.total:
            return None
        low, high, _ = clustered_interval(self._parts, self._wholes)
        return {"value": self.successes / self.total, "low": low, "high": high, "n": self.total}
