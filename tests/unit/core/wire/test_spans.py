"""Spans that overlap."""

from __future__ import annotations

from support.cases import for_each

from trialbed.wire.spans import Span, covered


@for_each(
    ("spans", "seconds"),
    [([], 0), ([(1, 3)], 2), ([(5, 6), (1, 3), (2, 4)], 4), ([(0, 9), (1, 2)], 9), ([(3, 1), (1, 2)], 1)],
)
def test_what_is_covered_twice_counts_once(spans: list[Span], seconds: float) -> None:
    assert covered(iter(spans)) == seconds
