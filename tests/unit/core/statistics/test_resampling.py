"""Resampling, and its limits beside exact figures and draws of the same data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.cases import for_each

from trialbed.statistics import LARGE, CaseBootstrap, Estimate, mean_estimate, paired_test


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


def test_every_resample_has_as_many_cases_as_there_are() -> None:
    for cases in (1, 3, 700):
        sums = CaseBootstrap(cases, resamples=300).sums(np.ones((cases, 1)))
        assert sums.shape == (300, 1)
        assert (sums == cases).all()


def test_the_same_seed_gives_the_same_draws_and_figures_are_drawn_in_pairs() -> None:
    columns = np.stack([np.arange(50.0), np.arange(50.0) + 3, np.ones(50)], axis=1)
    sums = CaseBootstrap(50, seed=1).sums(columns)
    assert (sums == CaseBootstrap(50, seed=1).sums(columns)).all()
    assert (sums != CaseBootstrap(50, seed=2).sums(columns)).any()
    assert sums[:, 1] - sums[:, 0] == pytest.approx(np.full(2000, 150.0))


def test_what_is_undefined_is_missing() -> None:
    found = CaseBootstrap(3).estimate(mean, np.zeros(3), np.zeros(3), n=0)
    assert found == Estimate(None, None, 0)
    assert found.as_json() == {"value": None, "low": None, "high": None, "n": 0}


def test_a_figure_that_most_resamples_cannot_tell_has_no_interval() -> None:
    one_of_many = np.zeros(50)
    one_of_many[7] = 1.0
    found = CaseBootstrap(50).estimate(mean, one_of_many * 5, one_of_many)
    assert found.value == 5.0
    assert found.interval is None


def test_several_figures_are_those_told_singly() -> None:
    columns = (np.arange(30.0), np.ones(30))
    bootstrap = CaseBootstrap(30)
    both = bootstrap.estimates({"mean": mean, "total": lambda total, count: total + 0 * count}, *columns)
    assert both["mean"] == bootstrap.estimate(mean, *columns)
    assert both["total"].value == 435.0


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


def sign_flip(differences: NDArray[Any]) -> float:
    return paired_test(differences, of_amounts=True).p


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


def test_the_limit_goes_on_where_draws_end() -> None:
    more = np.where(np.arange(LARGE + 1) < LARGE / 2 + 50, 0.5, -0.5)  # 50 more than half: a p-value of 0.02
    exact = exact_p(more, 0.5)
    assert 0.02 < exact < 0.03
    assert sign_flip(more) == pytest.approx(exact, abs=1e-4)
    assert sign_flip(more[:-1]) == pytest.approx(exact_p(more[:-1], 0.5), abs=0.005)  # by 9,999 draws


def test_few_large_differences_among_thousands_are_drawn() -> None:
    differences = np.concatenate([np.ones(3), np.tile([1e-6, -1e-6], 2 * LARGE)])
    # One pattern in four has all large ones on one side, and the small ones take half of them nearer to 0.
    assert sign_flip(differences) == pytest.approx(1 / 8, abs=0.015)


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


@pytest.mark.parametrize("size", [LARGE, LARGE + 1])
def test_a_mean_that_one_case_makes_skewed_is_drawn(size: int) -> None:
    values = np.ones(size)
    values[7] = 1e6
    found = mean_estimate(values)
    assert found == CaseBootstrap(size).estimate(lambda total, count: total / count, values, np.ones(size))


def test_equal_values_have_no_width() -> None:
    found = mean_estimate(np.full(3 * LARGE, 0.1))
    assert found.interval is not None
    assert found.value == found.interval.low == found.interval.high == 0.1
