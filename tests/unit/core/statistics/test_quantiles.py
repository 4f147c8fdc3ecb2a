from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbed.statistics import quantile, quantile_interval

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@given(VALUES, st.floats(0, 1))
def test_a_quantile_is_numpys(values: list[float], share: float) -> None:
    assert quantile(sorted(values), share) == pytest.approx(float(np.quantile(values, share)), rel=1e-9, abs=1e-6)


@given(st.lists(st.floats(0, 1e6), min_size=10, max_size=200))
def test_the_median_lies_in_its_interval(values: list[float]) -> None:
    ordered = sorted(values)
    interval = quantile_interval(ordered, 0.5, len(ordered))
    assert interval is not None
    assert interval.low <= quantile(ordered, 0.5) <= interval.high


def test_few_observations_have_no_interval_of_a_high_quantile() -> None:
    assert quantile_interval(list(range(50)), 0.99, 50) is None
    assert quantile_interval(list(range(2000)), 0.99, 2000) is not None


def test_trials_of_one_case_do_not_make_a_quantile_surer() -> None:
    ordered = [float(value) for value in range(1000)]
    sure, clustered = quantile_interval(ordered, 0.5, 1000), quantile_interval(ordered, 0.5, 100)
    assert sure is not None
    assert clustered is not None
    assert clustered.high - clustered.low > 2 * (sure.high - sure.low)


def test_the_interval_of_a_median_holds_it_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        interval = quantile_interval(sorted(random.exponential(size=101)), 0.5, 101)
        assert interval is not None
        held += interval.low <= np.log(2) <= interval.high
    assert 0.92 <= held / 400 <= 0.99
