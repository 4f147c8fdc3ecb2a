from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.statistics import bounded_mean_interval, clustered_interval, wilson_interval


@for_each(
    ("proportion", "n", "low", "high"),
    [  # as scipy.stats.binomtest(...).proportion_ci(method="wilson") gives them
        (0.0, 10, 0.0, 0.2775328),
        (1.0, 10, 0.7224672, 1.0),
        (0.5, 10, 0.2365931, 0.7634069),
        (0.81, 100, 0.7222115, 0.8748525),
    ],
)
def test_wilson_agrees_with_an_independent_implementation(proportion: float, n: int, low: float, high: float) -> None:
    found = wilson_interval(proportion, n)
    assert found == pytest.approx((low, high, 0.95), abs=1e-7)


def test_repeats_of_one_query_do_not_make_it_surer() -> None:
    once = bounded_mean_interval({1: [1.0], 2: [0.0], 3: [1.0]})
    often = bounded_mean_interval({1: [1.0] * 9, 2: [0.0] * 9, 3: [1.0] * 9})
    assert often == pytest.approx(once)


def test_intervals_of_more_queries_are_narrower() -> None:
    few, many = ({query: [0.5] for query in range(n)} for n in (4, 40))
    assert width(bounded_mean_interval(many)) < width(bounded_mean_interval(few))


def width(interval: tuple[float, float, float]) -> float:
    return interval[1] - interval[0]


@for_each("values", [{}, {1: []}, {1: [1.5]}, {1: [float("nan")]}])
def test_what_has_no_interval_is_refused(values: dict[int, list[float]]) -> None:
    with pytest.raises(ValueError, match="value"):
        bounded_mean_interval(values)


@given(st.dictionaries(st.integers(), st.lists(st.floats(0, 1), min_size=1, max_size=4), min_size=1, max_size=20))
def test_the_mean_lies_within_and_the_ends_are_probabilities(values: dict[int, list[float]]) -> None:
    found = bounded_mean_interval(values)
    mean = fmean([value for repeats in values.values() for value in repeats])
    assert 0 <= found.low <= mean <= found.high <= 1


def covered(clustered: float, trials: int, rate: float, cases: int = 150, runs: int = 1500) -> float:
    """How often the interval has the true rate, where trials of a case agree by chance, in part, or always."""
    random = np.random.default_rng(8)
    shared = random.random((runs, cases, 1)) < rate
    own = random.random((runs, cases, trials)) < rate
    values = np.where(random.random((runs, cases, 1)) < clustered, shared, own)
    found = [clustered_interval(run.tolist(), [trials] * cases) for run in values.sum(axis=2)]
    return sum(interval.low <= rate <= interval.high for interval in found) / runs


@for_each("rate", [0.5, 0.9])
@for_each("trials", [1, 3, 5])
@for_each("clustered", [0.0, 0.6, 1.0])
def test_an_interval_over_trials_of_cases_covers_the_truth(clustered: float, trials: int, rate: float) -> None:
    """Taken as independent, five trials that agree would cover it in 59 % of runs only."""
    assert 0.93 <= covered(clustered, trials, rate) <= 0.97


def test_clusters_of_one_are_wilsons() -> None:
    assert clustered_interval([1, 0, 1, 1], [1, 1, 1, 1]) == pytest.approx(wilson_interval(0.75, 4))


def test_observations_that_all_agree_count_as_one_per_cluster() -> None:
    assert clustered_interval([5, 5, 5], [5, 5, 5]) == wilson_interval(1.0, 3)


def test_clusters_without_observations_are_left_out() -> None:
    assert clustered_interval([1, 0, 0], [2, 2, 0]) == clustered_interval([1, 0], [2, 2])
    with pytest.raises(ValueError, match="at least one"):
        clustered_interval([0], [0])
