"""Intervals: against published values, and how often they cover the truth."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.statistics import (
    Interval,
    clustered_interval,
    paired_interval,
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


@given(st.floats(0, 1), st.integers(1, 10_000))
def test_the_proportion_lies_within_and_the_ends_are_probabilities(proportion: float, n: int) -> None:
    found = wilson_interval(proportion, n)
    assert 0 <= found.low <= proportion <= found.high <= 1


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


def test_of_many_small_differences_it_is_the_usual_one() -> None:
    differences = np.random.default_rng(1).normal(0.02, 0.1, size=10_000).clip(-1, 1)
    half = 1.96 * differences.std() / 100
    found = paired_interval(differences.tolist())
    assert (found.low, found.high) == pytest.approx(
        (differences.mean() - half, differences.mean() + half), abs=0.02 * half
    )


def test_a_small_change_leaves_others_all_the_room_that_the_score_has() -> None:
    low, high, _ = paired_interval([0.0] * 19 + [-0.2])
    assert low < -0.161125
    assert high > 0.15
    low, high, _ = paired_interval([0.5] * 20)
    assert low < 0.5 - 1.4 * 0.16
    assert high > 0.5 + 0.4 * 0.16


def test_without_bounds_others_differ_as_much_as_the_largest_that_was_seen() -> None:
    low, high, _ = paired_interval([0.0] * 19 + [-20.0], largest=None)
    assert (-high, -low) == pytest.approx((-0.119181 * 20, 0.236131 * 20), rel=0.001)
    # Where all differ by as much, others may differ by more.
    low, high, _ = paired_interval([50.0] * 20, largest=None)
    assert low < 45
    assert 55 < high < 70


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e6, 1e200])
def test_of_scores_without_bounds_the_unit_makes_no_difference(unit: float) -> None:
    differences = [0.5, -0.25, 1.0, 0.125, 0.0, 0.0, 0.5, 0.75]
    usual = paired_interval(differences, largest=None)
    found = paired_interval([unit * one for one in differences], largest=None)
    assert (found.low / unit, found.high / unit) == pytest.approx((usual.low, usual.high), rel=1e-6)


def test_differences_of_differences_have_twice_the_room() -> None:
    low, high, _ = paired_interval([0.0] * 20, largest=2.0)
    assert (low, high) == pytest.approx((-2 * 0.161125, 2 * 0.161125), abs=2e-6)
    assert paired_interval([2.0] * 20, largest=2.0).high == 2.0


SIZES = st.floats(0.01, 1)


@given(st.integers(2, 400), st.floats(0, 1), SIZES, st.sampled_from([-1, 1]))
def test_more_change_never_gives_more_certainty(queries: int, share: float, size: float, sign: int) -> None:
    """Up to half of the queries: from there on, those that did not change are the exceptions."""
    changed = round(share * (queries // 2 - 1))
    fewer, more = (paired_interval({sign * size: times, 0.0: queries - times}) for times in (changed, changed + 1))
    assert more.high - more.low >= fewer.high - fewer.low - 1e-9


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60))
def test_no_interval_is_narrower_than_that_without_any_change(differences: list[float]) -> None:
    low, high, _ = paired_interval(differences)
    least, most, _ = paired_interval([0.0] * len(differences))
    assert high - low >= most - least - 1e-8


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


@for_each(("queries", "repeats", "lost"), [(20, 3, 0.1), (20, 10, 0.0), (60, 5, 0.1), (300, 5, 0.0)])
def test_it_covers_the_truth_where_queries_are_repeated(queries: int, repeats: int, lost: float) -> None:
    """Queries are unlike in how hard they are; the other side loses some of them as a whole."""
    random = np.random.default_rng(queries + repeats)
    samples = 100
    chances = random.beta(2, 2, size=(samples, queries))
    theirs = np.where(random.random(chances.shape) < 2 * lost, 0.0, chances)
    differences = ((random.binomial(repeats, theirs) - random.binomial(repeats, chances)) / repeats).round(9)
    found = [paired_interval(row.tolist()) for row in differences]
    covered = np.mean([low <= -lost <= high for low, high, _ in found])
    # Four standard errors of so few samples below 93 %.
    assert covered >= 0.93 - 4 * (0.93 * 0.07 / samples) ** 0.5


@for_each(("queries", "repeats", "share"), [(20, 2, 0.05), (30, 2, 0.1), (30, 10, 0.05), (60, 5, 0.03)])
def test_it_covers_rare_large_losses_that_mostly_are_not_seen(queries: int, repeats: int, share: float) -> None:
    """A few queries in a hundred lose all, the others next to nothing: no draw says how much the rare ones lose."""
    random = np.random.default_rng(4)
    samples = 150
    chances = random.beta(30, 2, size=(samples, queries))
    theirs = np.where(random.random(chances.shape) < share / (30 / 32), 0.0, chances)
    differences = ((random.binomial(repeats, theirs) - random.binomial(repeats, chances)) / repeats).round(9)
    found = [paired_interval(row) for row in differences]
    assert np.mean([low <= -share <= high for low, high, _ in found]) >= 0.95 - 4 * (0.95 * 0.05 / samples) ** 0.5
