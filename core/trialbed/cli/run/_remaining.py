"""How long a run will still take, by the pace at which its trials end: a range, and none before there is a pace."""

from __future__ import annotations

import math

ENOUGH = 3
"""Trials that must have ended: fewer say nothing about a pace."""

WORTH_SAYING = 5.0
"""Seconds that a run must still take for the time left to be shown."""

SURE = 0.25
"""The part of the time left by which it may be wrong and is still one number, not a range."""

SPREAD = 2.0
"""Standard errors to both sides."""


class TimeLeft:
    """The times between the ends of trials.

    Args:
        now: seconds on any clock, when the first trials begin.
    """

    def __init__(self, now: float) -> None:
        self._last = now
        self._count = 0
        self._mean = self._squares = 0.0

    def advance(self, now: float) -> None:
        """A trial has ended."""
        gap, self._last = now - self._last, now
        self._count += 1
        before = gap - self._mean
        self._mean += before / self._count
        self._squares += before * (gap - self._mean)

    def estimate(self, trials: int, now: float) -> str:
        """The time that so many trials will take, in words; empty where that is not known, or is soon over."""
        if self._count < ENOUGH:
            return ""
        waited = now - self._last
        # The trial in hand takes at least as long as it has already taken.
        expected = max(trials * self._mean - waited, (trials - 1) * self._mean)
        variance = self._squares / (self._count - 1)
        error = SPREAD * math.sqrt(trials * variance + trials**2 * variance / self._count)
        if expected + error < WORTH_SAYING:
            return ""
        if error <= SURE * expected:
            return f", about {duration(expected)} left"
        most = duration(expected + error)
        return f", {duration(expected - error)} to {most} left" if expected > error else f", up to {most} left"


def duration(seconds: float) -> str:
    """A duration in the largest unit that fits."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
