"""Quantiles and their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trialbed.statistics._intervals import Interval, wilson_interval


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which this share of values lies, between neighbours in proportion (type 7 of Hyndman and Fan).

    Args:
        ordered: the values from least to greatest; at least one.
        share: 0.5 for the median.
    """
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def quantile_interval(ordered: Sequence[float], share: float, n: int, level: float = 0.95) -> Interval | None:
    """Return the interval of a quantile: the values at the ends of the interval of its share (Woodruff's method).

    Source: R. S. Woodruff, "Confidence Intervals for Medians and Other Position Measures", Journal of the American
    Statistical Association 47 (1952), 635-646; with Wilson's interval for the share.

    Args:
        ordered: the values from least to greatest; at least one.
        n: the independent observations among them: cases, where several values are of one case.

    Returns:
        None where there are so few observations that an end lies beyond all of them (a p99 of 50 values).
    """
    low, high, _ = wilson_interval(share, n, level)
    if low * n < 1 or (1 - high) * n < 1:
        return None
    return Interval(quantile(ordered, low), quantile(ordered, high), level)
