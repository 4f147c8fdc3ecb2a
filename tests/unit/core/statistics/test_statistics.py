"""Intervals, tests and resampling: against published values, exact figures, and how often they cover the truth."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.cases import for_each

from trialbed.statistics import (
    LARGE,
    CaseBootstrap,
    Estimate,
    Interval,
    Pilot,
    clustered_interval,
    holm,
    mcnemar,
    mean_estimate,
    paired_interval,
    paired_test,
    pass_at_k,
    pass_hat_k,
    quantile,
    wilson_interval,
)


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


def covered(clustered: float, trials: int, rate: float, cases: int = 150, runs: int = 500) -> float:
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


def of_counts(queries: int, better: int, worse: int) -> Interval:
    return paired_interval([1.0] * better + [-1.0] * worse + [0.0] * (queries - better - worse))


@for_each(
    ("queries", "better", "worse", "low", "high"),
    [  # as a bisection over Tango's closed form gives them
        (20, 0, 0, -0.161125, 0.161125),
        (20, 1, 0, -0.119181, 0.236131),
        (20, 6, 0, 0.090537, 0.518973),
        (20, 20, 0, 0.677750, 1.0),
        (20, 3, 5, -0.372341, 0.187898),
        (60, 10, 2, 0.023529, 0.254661),
        (300, 0, 0, -0.012643, 0.012643),
        (300, 60, 30, 0.038771, 0.161629),
        (1, 0, 0, -0.793451, 0.793451),
        (2, 1, 1, -0.810938, 0.810938),
    ],
)
def test_of_won_and_lost_queries_it_is_tangos(queries: int, better: int, worse: int, low: float, high: float) -> None:
    found = of_counts(queries, better, worse)
    assert (found.low, found.high) == pytest.approx((low, high), abs=2e-6)


def test_without_bounds_others_differ_as_much_as_the_largest_that_was_seen() -> None:
    low, high, _ = paired_interval([0.0] * 19 + [-20.0], largest=None)
    assert (-high, -low) == pytest.approx((-0.119181 * 20, 0.236131 * 20), rel=0.001)
    # Where all differ by as much, others may differ by more.
    low, high, _ = paired_interval([50.0] * 20, largest=None)
    assert low < 45
    assert 55 < high < 70


@cache
def cached(queries: int, better: int, worse: int) -> Interval:
    if better < worse:
        low, high, level = cached(queries, worse, better)
        return Interval(-high, -low, level)
    return of_counts(queries, better, worse)


@for_each(
    ("changed", "difference"),
    [(0.25, 0.0), (0.25, 0.1), (0.25, 0.2), (0.4, 0.0), (0.4, 0.1), (0.4, 0.3), (0.6, 0.0), (0.6, 0.2), (0.8, 0.4)],
)
def test_it_covers_the_truth_as_often_as_it_says(changed: float, difference: float) -> None:
    """Exactly: summed up over all that can happen to 20 queries."""
    better, worse = (changed + difference) / 2, (changed - difference) / 2
    covered = 0.0
    for gained in range(21):
        for lost in range(21 - gained):
            low, high, _ = cached(20, gained, lost)
            if low - 1e-9 <= difference <= high + 1e-9:
                ways = comb(20, gained) * comb(20 - gained, lost)
                covered += ways * better**gained * worse**lost * (1 - changed) ** (20 - gained - lost)
    assert 0.93 <= covered <= 0.97


def sign_flip(differences: NDArray[Any], **options: int) -> float:
    return paired_test(differences, of_amounts=True, **options).p


@for_each(
    ("first", "second", "p"),
    [  # as scipy.stats.binomtest gives them, and chi2 with the correction beyond 1,000
        (0, 1, 1.0),
        (5, 5, 1.0),
        (2, 10, 0.03857421875),
        (0, 12, 0.00048828125),
        (7, 17, 0.06391465663909912),
        (1, 23, 2.9802322387695312e-06),
        (10, 15, 0.42435622215270996),
        (15, 29, 0.048766765904474596),
        (100, 173, 1.1749229902030448e-05),
        (470, 530, 0.06202319509836343),
        (480, 560, 0.014298083798964153),
    ],
)
def test_mcnemar_agrees_with_an_independent_implementation(first: int, second: int, p: float) -> None:
    assert mcnemar(first, second) == pytest.approx(p, rel=1e-9)
    assert mcnemar(second, first) == mcnemar(first, second)


def test_sign_flips_find_what_all_patterns_give() -> None:
    differences = np.array([1.5, -0.2, 2.0, 0.7, 1.1, -0.4, 0.9])
    signs = np.array(np.meshgrid(*[[-1, 1]] * 7)).reshape(7, -1)
    exact = float((np.abs(differences @ signs) >= abs(differences.sum()) - 1e-9).mean())
    assert sign_flip(differences) == pytest.approx(exact)
    assert sign_flip(differences, draws=100) == pytest.approx(exact, abs=0.1)


@for_each(
    ("p_values", "adjusted"),
    [  # as statsmodels.stats.multitest.multipletests(..., method="holm") gives them
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.2, 0.001, 0.9, 0.02, 0.02], [0.4, 0.005, 0.9, 0.08, 0.08]),
        ([0.5, 0.5], [1.0, 1.0]),
        ([], []),
    ],
)
def test_holm_agrees_with_an_independent_implementation(p_values: list[float], adjusted: list[float]) -> None:
    found = holm(dict(enumerate(p_values)))
    assert list(found) == list(range(len(p_values)))
    assert list(found.values()) == pytest.approx(adjusted)


MARGIN = 0.05


@for_each(
    ("differences", "least", "most", "shows"),
    [
        ([-1.0] * 12 + [0.0] * 18, 15, 40, "difference"),
        ([-1.0] * 4, 6, 6, "difference"),  # an exact test of signs needs six
        ([0.0] * 30, 73, 100, "equivalence"),  # queries that were not seen may differ by all
        ([1.0] * 10 + [-1.0] * 10 + [0.0] * 80, 500, 2_000, "equivalence"),
    ],
)
def test_as_many_are_enough_as_the_verdict_takes(differences: list[float], least: int, most: int, shows: str) -> None:
    found = Pilot.of(differences).enough(MARGIN)
    assert found is not None
    assert least <= found.queries <= most
    assert found.shows == shows


def mean(total: Any, count: Any) -> Any:
    return total / count


def test_the_interval_of_a_mean_is_that_of_theory() -> None:
    values = np.random.default_rng(1).normal(10, 2, size=400)
    found = CaseBootstrap(400, resamples=4000).estimate(mean, values, np.ones(400))
    assert found.value == pytest.approx(float(values.mean()))
    assert found.interval is not None
    half = 1.96 * float(values.std()) / 20
    assert found.interval.low == pytest.approx(float(values.mean()) - half, abs=0.03)
    assert found.interval.high == pytest.approx(float(values.mean()) + half, abs=0.03)
    assert found.n == 400


def test_trials_of_one_case_are_drawn_together() -> None:
    """Ten equal trials of each of 40 cases are 40 observations, not 400."""
    values = np.random.default_rng(2).normal(size=40)
    once = CaseBootstrap(40).estimate(mean, values, np.ones(40))
    tenfold = CaseBootstrap(40).estimate(mean, values * 10, np.full(40, 10.0))
    assert tenfold.interval == pytest.approx(once.interval)


def test_what_is_undefined_is_missing() -> None:
    found = CaseBootstrap(3).estimate(mean, np.zeros(3), np.zeros(3), n=0)
    assert found == Estimate(None, None, 0)
    assert found.as_json() == {"value": None, "low": None, "high": None, "n": 0}


def exact_p(differences: NDArray[Any], step: float) -> float:
    """The p-value over all patterns of signs of differences that are multiples of a step, added up one by one."""
    units = np.rint(np.abs(differences) / step).astype(int)
    chances = np.array([1.0])
    for unit in units:
        wider = np.zeros(len(chances) + 2 * unit)
        wider[: len(chances)] += chances / 2
        wider[2 * unit :] += chances / 2
        chances = wider
    sums = np.arange(len(chances)) - units.sum()
    seen = abs(round(differences.sum() / step))
    return float(chances[np.abs(sums) >= seen].sum())


def make_differences(seed: int, values: list[float], shift: float) -> NDArray[Any]:
    """Differences of one more than are drawn, none of which is 0."""
    random = np.random.default_rng(seed)
    found = random.choice(values, size=2 * LARGE) * random.choice([-1, 1], size=2 * LARGE, p=[0.5 - shift, 0.5 + shift])
    return np.asarray(found, dtype=np.float64)


@for_each(
    ("values", "step", "shift"),
    [
        ([0.5], 0.5, 0.0),
        ([0.5], 0.5, 0.016),
        ([0.5, 1.0], 0.5, 0.02),
        ([0.1, 0.3, 0.7, 1.0], 0.1, 0.01),
        ([0.25, 0.75, 1.0], 0.25, -0.015),
        ([1 / 3, 2 / 3, 1.0], 1 / 3, 0.016),
        ([1 / 3], 1 / 3, 0.016),
        ([1 / 7, 3 / 7, 5 / 7], 1 / 7, 0.015),
        ([0.00002, 0.00003], 0.00001, 0.016),
    ],
)
def test_sign_flips_of_many_have_the_p_value_of_all_patterns(values: list[float], step: float, shift: float) -> None:
    differences = make_differences(1, values, shift)
    assert sign_flip(differences) == pytest.approx(exact_p(differences, step), abs=1e-4)


def test_the_interval_of_many_is_that_of_very_many_draws() -> None:
    values = np.random.default_rng(3).exponential(2.0, size=LARGE + 1)
    found = mean_estimate(values)
    draws = CaseBootstrap(len(values), 40_000, 5).sums(values[:, None])[:, 0] / len(values)
    low, high = np.quantile(draws, (0.025, 0.975))
    error = values.std() / np.sqrt(len(values))
    assert found.value == pytest.approx(values.mean())
    assert found.n == len(values)
    assert found.interval is not None
    assert found.interval.low == pytest.approx(low, abs=0.03 * error)
    assert found.interval.high == pytest.approx(high, abs=0.03 * error)
