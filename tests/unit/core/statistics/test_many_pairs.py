"""Many paired comparisons at once have the figures of each alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trialbed.statistics import paired_interval, paired_intervals, paired_p_values, paired_test

VALUES = (-1.0, -0.6, -0.05, 0.0, 1 / 3, 1.0)
DRAWS = 1_999

Comparisons = Sequence[Sequence[int]]
comparisons = st.lists(
    st.lists(st.integers(0, 9), min_size=len(VALUES), max_size=len(VALUES)).filter(any), min_size=1, max_size=4
)
whole = [5, 0, 0, 2, 0, 30]


@given(comparisons, st.sampled_from([1.0, 2.0, None]))
def test_intervals_are_those_of_each(drawn: Comparisons, largest: float | None) -> None:
    counts = np.array([*drawn, whole])
    found = zip(*paired_intervals(np.tile(VALUES, (len(counts), 1)), counts, largest=largest), strict=True)
    for row, ends in zip(counts.tolist(), found, strict=True):
        interval = paired_interval(
            {value: times for value, times in zip(VALUES, row, strict=True) if times}, largest=largest
        )
        assert ends == pytest.approx((interval.low, interval.high), abs=1e-9)


@given(comparisons)
@example([[4, 0, 0, 0, 9, 1]])  # whose sum is 0 but for rounding
def test_p_values_are_those_of_each(drawn: Comparisons) -> None:
    counts = np.array([*drawn, whole])
    found = paired_p_values(np.tile(VALUES, (len(counts), 1)), counts, draws=DRAWS)
    for row, p in zip(counts.tolist(), found.tolist(), strict=True):
        known = np.repeat(VALUES, row)
        # Beyond ten cases, signs are drawn, and not the same ones.
        assert p == pytest.approx(paired_test(known, draws=DRAWS).p, abs=1e-9 if sum(row) <= 10 else 0.08)


def test_very_many_different_values_have_the_interval_of_the_same_ones_in_fewer_steps() -> None:
    differences = np.random.default_rng(1).uniform(-0.3, 0.4, size=6_000)
    fine, coarse = paired_interval(differences), paired_interval(np.round(differences, 3))
    assert (fine.low, fine.high) == pytest.approx((coarse.low, coarse.high), abs=1e-4)
