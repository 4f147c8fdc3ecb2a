"""The power of comparisons; ``test_plan.py`` checks it against verdicts."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import for_each

from trialbed.statistics import paired_interval
from trialbed_evaluation.planning import (
    WORST_CASE,
    Pilot,
    difference_power,
    is_promised,
    pilot_needed,
    pilot_of,
    power_range,
    queries_for,
    queries_for_equivalence,
    smallest_difference,
    variance_range,
)


def noisy(queries: int, repeats: int = 3, *, between: float = 0.2, within: float = 0.3) -> Pilot:
    """A pilot of differences without a step."""
    random = np.random.default_rng(5)
    own = random.normal(0.05, between, size=(queries, 1)) + random.normal(0, within, size=(queries, repeats))
    return pilot_of(np.round(np.clip(own, -1, 1), 2).tolist())


@pytest.mark.parametrize(("pilot", "repeats"), [(WORST_CASE, 3), (noisy(50), 1), (noisy(50), 3)])
def test_the_questions_have_one_answer(pilot: Pilot, repeats: int) -> None:
    queries = queries_for(pilot, 0.15, repeats=repeats)
    assert queries is not None
    assert difference_power(pilot, queries, 0.15, repeats=repeats) == pytest.approx(0.8, abs=0.06)
    smallest = smallest_difference(pilot, queries, repeats=repeats)
    assert smallest == pytest.approx(0.15, abs=0.015)


def test_more_queries_repeats_and_larger_differences_have_more_power() -> None:
    pilot = noisy(40)
    least = difference_power(pilot, 30, 0.1, draws=200)
    assert least < difference_power(pilot, 60, 0.1, draws=200)
    assert difference_power(pilot, 60, 0.1, draws=200) < difference_power(pilot, 60, 0.1, repeats=3, draws=200)
    assert least < difference_power(pilot, 30, 0.2, draws=200)
    assert least > difference_power(pilot, 30, 0.1, alpha=0.01, draws=200)


def test_more_queries_than_are_drawn_have_the_power_that_goes_on() -> None:
    pilot = noisy(60)
    assert difference_power(pilot, 200, 0.06) == pytest.approx(difference_power(pilot, 201, 0.06), abs=0.06)


def test_few_queries_show_nothing_however_large_the_difference() -> None:
    assert smallest_difference(WORST_CASE, 5) is None
    assert smallest_difference(noisy(40), 5) is None
    assert difference_power(WORST_CASE, 6, 1.0) == pytest.approx(1.0)


def test_what_no_number_can_show_has_none() -> None:
    assert queries_for(noisy(40), 0.0001) is None
    assert queries_for_equivalence(noisy(40), 0.0001, power=0.99) is None


def test_a_pilot_in_which_nothing_changed_still_lets_something_change() -> None:
    pilot = pilot_of([[0.0]] * 40)
    assert (queries_for(pilot, 0.1) or 0) > 20
    assert not is_promised(pilot, 1, 0.1)
    assert pilot_needed(pilot, 1, 0.1) is None


@for_each(("difference", "queries"), [(0.0, 2), (0.0, 5), (0.0, 40), (0.2, 5), (1.0, 5), (1.0, 40)])
def test_a_pilot_whose_queries_all_differ_by_the_same_leaves_the_spread_open(difference: float, queries: int) -> None:
    pilot = pilot_of([[difference]] * queries)
    for wanted in (0.0, 0.1):
        low, high = variance_range(pilot, 1, wanted)
        assert low < 0.75 < 1.15 < high
    least, most = power_range(pilot, 1, 0.1, power=0.8, alpha=0.05)
    assert least < 0.72 < 0.95 < most
    assert not is_promised(pilot, 1, 0.1)
    assert pilot_needed(pilot, 1, 0.1) is None


def test_queries_that_are_all_won_or_lost_as_a_whole_leave_ties_open() -> None:
    low, high = variance_range(pilot_of([[1.0], [1.0], [-1.0], [1.0], [-1.0]]), 1, 0.1)
    assert low < 0.9 < 1.05 < high
    assert variance_range(WORST_CASE, 1, 0.1) == (1.0, 1.0)


def test_a_number_is_promised_by_pilots_that_are_large_enough() -> None:
    small, enough = noisy(20), noisy(60)
    assert not is_promised(small, 3, 0.1)
    assert is_promised(enough, 3, 0.1)
    assert is_promised(WORST_CASE, 3, 0.1)
    assert (pilot_needed(small, 3, 0.1) or 0) >= 40
    # What ten repeats leave is known roughly by a pilot of three, and not at all by one of a single one.
    noise = noisy(60, between=0.0)
    assert not is_promised(noise, 10, 0.1)
    assert (pilot_needed(noise, 10, 0.1) or 0) > 60
    assert not is_promised(noisy(60, 1), 3, 0.1)
    assert pilot_needed(noisy(60, 1), 3, 0.1) is None


def test_pilots_of_few_changes_promise_nothing() -> None:
    rare = pilot_of([[1.0], [-1.0], [1.0], *[[0.0]] * 37])
    assert not is_promised(rare, 1, 0.05)
    assert (pilot_needed(rare, 1, 0.05) or 0) > 40


def test_ranges_are_as_wide_as_the_pilot_is_small() -> None:
    low, high = variance_range(noisy(20), 3, 0.1)
    assert low < variance_range(noisy(200), 3, 0.1)[0] < 1 < variance_range(noisy(200), 3, 0.1)[1] < high
    least, most = power_range(noisy(200), 3, 0.1, power=0.8, alpha=0.05)
    assert 0.65 < least < 0.8 < most < 0.95
    # Without repeats, all of the variance may be noise.
    assert variance_range(noisy(60, 1), 4, 0.1)[0] == pytest.approx(variance_range(noisy(60, 1), 1, 0.1)[0] / 4)


def test_repeats_do_not_replace_queries() -> None:
    """However exact the mean of twenty queries is, others may differ more: the verdict says so too."""
    least = smallest_difference(noisy(40, between=0.0, within=0.02), 20, repeats=3)
    assert least is not None
    assert 0.18 < least < 0.24
    noise = [0.001, -0.001] * 10
    below, above = ([least + shift + own for own in noise] for shift in (-0.03, 0.03))
    assert paired_interval(below).low < 0 < paired_interval(above).low


def test_more_repeats_than_the_pilots_need_fewer_queries() -> None:
    random = np.random.default_rng(6)
    pilot = pilot_of((random.integers(0, 2, (60, 2)) - random.integers(0, 2, (60, 2))).tolist())
    one, few, many = (queries_for(pilot, 0.1, repeats=repeats) or 0 for repeats in (1, 2, 10))
    assert many < few < one
