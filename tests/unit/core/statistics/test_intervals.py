from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.statistics import clustered_interval, pass_at_k, pass_hat_k, quantile, wilson_interval


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


@given(st.floats(0, 1), st.integers(1, 10_000))
def test_the_proportion_lies_within_and_the_ends_are_probabilities(proportion: float, n: int) -> None:
    found = wilson_interval(proportion, n)
    assert 0 <= found.low <= proportion <= found.high <= 1


def covered(clustered: float, trials: int, rate: float, cases: int = 150, runs: int = 1500) -> float:
    """How often the interval has the true rate, where trials of a case agree by chance, in part, or always."""
    random = np.random.default_rng(8)
    shared = random.random((runs, cases, 1)) < rate
    own = random.random((runs, cases, trials)) < rate
    values = np.where(random.random((runs, cases, 1)) < clustered, shared, own)
    found = [clustered_interval(run.tolist(), [trials] * cases) for run in values.sum(axis=2)]
    return sum(interval.low <= rate <= interval.high for interval in found) / runs


@for_each("rate", [0.5, 0.9])
@for_each("trials", [3, 5])
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


VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@given(VALUES, st.floats(0, 1))
def test_a_quantile_is_numpys(values: list[float], share: float) -> None:
    assert quantile(sorted(values), share) == pytest.approx(float(np.quantile(values, share)), rel=1e-9, abs=1e-6)


@given(st.data())
def test_they_are_the_shares_of_all_choices_of_k_trials(data: st.DataObject) -> None:
    outcomes = data.draw(st.lists(st.booleans(), min_size=1, max_size=7))
    k = data.draw(st.integers(1, len(outcomes)))
    chosen = list(combinations(outcomes, k))
    assert pass_at_k(len(outcomes), sum(outcomes), k) == pytest.approx(sum(map(any, chosen)) / len(chosen))
    assert pass_hat_k(len(outcomes), sum(outcomes), k) == pytest.approx(sum(map(all, chosen)) / len(chosen))


def test_one_trial_is_the_rate_of_success() -> None:
    assert pass_at_k(4, 3, 1) == pass_hat_k(4, 3, 1) == 0.75
