"""The limits of resampling, beside exact figures and draws of the same data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.cases import for_each

from trialbed.statistics import LARGE, CaseBootstrap, mean_estimate, paired_test


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


@pytest.mark.parametrize("size", [LARGE, 10 * LARGE])
def test_a_mean_that_one_case_makes_skewed_is_drawn(size: int) -> None:
    values = np.ones(size)
    values[7] = 1e6
    found = mean_estimate(values)
    assert found == CaseBootstrap(size).estimate(lambda total, count: total / count, values, np.ones(size))


def test_equal_values_have_no_width() -> None:
    found = mean_estimate(np.full(3 * LARGE, 0.1))
    assert found.interval is not None
    assert found.value == found.interval.low == found.interval.high == 0.1
