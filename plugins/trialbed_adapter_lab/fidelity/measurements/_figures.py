"""A figure that was observed more than once."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from trialbed.records import Record


class Figure(Record):
    """The median of ``n`` observations, with the lowest and the highest."""

    median: float
    low: float
    high: float
    n: int


def figure(values: Sequence[float]) -> Figure | None:
    """Return the figure of these observations; None without any."""
    if not values:
        return None
    return Figure(median=statistics.median(values), low=min(values), high=max(values), n=len(values))
