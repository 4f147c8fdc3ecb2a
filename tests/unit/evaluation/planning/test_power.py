"""The power of comparisons; ``comparison/test_plan.py`` checks it by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from trialbed.statistics import UNSEEN, paired_interval
from trialbed_evaluation.planning import (
    WORST_CASE,
    Pilot,
    Spread,
    WholeQueries,
    difference_power,
    difference_spread,
    is_promised,
    pilot_needed,
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
    pilot = difference_spread(np.clip(own, -1, 1).tolist())
    assert isinstance(pilot, Pilot)
    return pilot


@pytest.mark.parametrize("spread", [WORST_CASE, WholeQueries(0.2), noisy(50)])
@pytest.mark.parametrize("repeats", [1, 3])
def test_the_three_questions_have_one_answer(spread: Spread, repeats: int) -> None:
    queries = queries_for(spread, 0.15, repeats=repeats)
    assert queries is not None
    assert difference_power(spread, queries, 0.15, repeats=repeats) == pytest.approx(0.81, abs=0.03)
    smallest = smallest_difference(spread, queries, repeats=repeats)
    assert smallest is not None
    assert smallest == pytest.approx(0.15, abs=0.01)


def test_more_queries_repeats_and_larger_differences_have_more_power() -> None:
    pilot = noisy(40)
    least = difference_power(pilot, 40, 0.1)
    assert least < difference_power(pilot, 120, 0.1)
    assert least < difference_power(pilot, 40, 0.1, repeats=3)
    assert least < difference_power(pilot, 40, 0.2)
    assert least > difference_power(pilot, 40, 0.1, alpha=0.01)


def test_more_queries_than_are_drawn_have_the_power_that_goes_on() -> None:
    pilot = noisy(60)
    assert difference_power(pilot, 390, 0.05) == pytest.approx(difference_power(pilot, 410, 0.05), abs=0.04)


def test_a_difference_of_either_sign_has_the_same_power_in_a_mirrored_pilot() -> None:
    pilot = noisy(40)
    mirrored = Pilot(tuple(tuple(-value for value in own) for own in pilot.differences))
    chance = difference_power(mirrored, 30, 0.2)
    assert difference_power(pilot, 30, -0.2) == pytest.approx(chance, abs=0.05)


def test_the_order_of_queries_and_repeats_makes_no_difference() -> None:
    values = [list(own) for own in noisy(40).differences]
    turned = [own[::-1] for own in values[::-1]]
    assert queries_for(difference_spread(values), 0.2) == queries_for(difference_spread(turned), 0.2)


def test_few_queries_show_nothing_however_large_the_difference() -> None:
    assert smallest_difference(WORST_CASE, 5) is None
    assert smallest_difference(noisy(40), 5) is None
    assert difference_power(WholeQueries(1.0), 6, 1.0) == pytest.approx(1.0)


def test_what_no_number_can_show_has_none() -> None:
    assert queries_for(WORST_CASE, 0.0) is None
    assert queries_for_equivalence(WORST_CASE, 0.05, power=0.99) is None


def test_a_pilot_in_which_nothing_changed_still_lets_something_change() -> None:
    spread = difference_spread([[0.0]] * 40)
    assert spread == WholeQueries(2 / 42, 40)
    assert (queries_for(spread, 0.1) or 0) > 20
    assert not is_promised(spread, 1, 0.1)
    assert pilot_needed(spread, 1, 0.1) is None


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
    rare = difference_spread([[1.0], [-1.0], [1.0], *[[0.0]] * 37])
    assert not is_promised(rare, 1, 0.05)
    assert (pilot_needed(rare, 1, 0.05) or 0) > 60


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
    assert 0.09 < least < 0.13
    noise = [0.001, -0.001] * 10
    below, above = ([least + shift + own for own in noise] for shift in (-0.03, 0.03))
    assert paired_interval(below, unseen=UNSEEN).low < 0 < paired_interval(above, unseen=UNSEEN).low


def test_more_repeats_than_the_pilots_need_fewer_queries() -> None:
    random = np.random.default_rng(6)
    pilot = difference_spread((random.integers(0, 2, (60, 2)) - random.integers(0, 2, (60, 2))).tolist())
    one, few, many = (queries_for(pilot, 0.1, repeats=repeats) or 0 for repeats in (1, 2, 10))
    assert many < few < one


def test_a_pilot_tells_of_differences_in_favour_of_its_better_side() -> None:
    losses = [[-1.0]] * 15 + [[0.0]] * 25
    assert queries_for(difference_spread(losses), 0.4) == queries_for(
        difference_spread([[-value for value in own] for own in losses]), 0.4
    )
