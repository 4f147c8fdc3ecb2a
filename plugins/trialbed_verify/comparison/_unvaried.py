"""Intervals of figures that no resample of the cases changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from trialbed.statistics import Estimate, Interval, wilson_interval


def with_width(found: Estimate, share: float, cases: int, figure: Callable[[float], float] = float) -> Estimate:
    """Return the estimate, with an interval that has a width.

    Where all cases agree, every resample does, and its interval is a point, be there three cases or three thousand.
    Wilson's interval of the share that agrees then says how much so many cases leave open.

    Args:
        share: of the cases on which the figure rests, those that agree.
        cases: their number.
        figure: computes it from a share.
    """
    interval = found.interval
    if found.value is None or interval is None or interval.low < interval.high or cases < 1:
        return found
    low, high, _ = wilson_interval(min(1.0, share), cases)
    ends = (figure(low), figure(high), found.value)
    return replace(found, interval=Interval(min(ends), max(ends)))


def f1_of(share: float) -> float:
    """F1 where this share of the cases in which either side calls tools agrees."""
    return 2 * share / (1 + share)
