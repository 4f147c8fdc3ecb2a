"""Spans of time that overlap."""

from __future__ import annotations

from collections.abc import Iterable

Span = tuple[float, float]
"""Start and end, in seconds on the same clock."""


def covered(spans: Iterable[Span]) -> float:
    """Return the seconds that at least one of the spans covers; a span that ends before it starts covers nothing."""
    total, end = 0.0, float("-inf")
    for start, stop in sorted(spans):
        begin = max(start, end)
        if stop > begin:
            total += stop - begin
            end = stop
    return total
