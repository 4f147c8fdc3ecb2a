"""The power of comparisons; ``comparison/test_plan.py`` checks it by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from trialbed.statistics import (
    UNSEEN,
    WORST_CASE,
    DifferenceSpread,
    difference_power,
    difference_spread,
    paired_interval,
    queries_for,
    queries_for_equivalence,
    smallest_difference,
)


@pytest.mark.parametrize("spread", [WORST_CASE, DifferenceSpread(0.2, 0.2), DifferenceSpread(None, 0.1, 0.2)])
@pytest.mark.parametrize("repeats", [1, 3])
def test_the_three_questions_have_one_answer(spread: DifferenceSpread, repeats: int) -> None:
    queries = queries_for(spread, 0.15, repeats=repeats)
    assert queries is not None
    assert difference_power(spread, queries, 0.15, repeats=repeats) >= 0.8
    assert difference_power(spread, queries - 1, 0.15, repeats=repeats) < 0.83
    smallest = smallest_difference(spread, queries, repeats=repeats)
    assert smallest is not None
    assert smallest == pytest.approx(0.15, abs=0.01)


def test_more_queries_repeats_and_larger_differences_have_more_power() -> None:
    spread = DifferenceSpread(None, 0.05, 0.3)
    least = difference_power(spread, 50, 0.1)
    assert least < difference_power(spread, 200, 0.1)
    assert least < difference_power(spread, 50, 0.1, repeats=4)
    assert least < difference_power(spread, 50, 0.2)
    assert least > difference_power(spread, 50, 0.1, alpha=0.01)


def test_few_queries_show_nothing_however_large_the_difference() -> None:
    assert smallest_difference(WORST_CASE, 5) is None
    assert smallest_difference(DifferenceSpread(None, 0.0, 0.0), 5) is None
    assert difference_power(DifferenceSpread(1.0, 1.0), 6, 1.0) == pytest.approx(1.0)


def test_what_no_number_can_show_has_none() -> None:
    assert queries_for(WORST_CASE, 0.0) is None
    assert queries_for_equivalence(WORST_CASE, 0.05, power=0.99) is None


def test_a_pilot_is_split_into_queries_and_noise() -> None:
    random = np.random.default_rng(5)
    own = random.normal(0, 0.3, size=(1_000, 1))
    spread = difference_spread((own + random.normal(0, 0.2, size=(1_000, 3))).tolist())
    assert spread.changed is None
    assert spread.between == pytest.approx(0.09, rel=0.2)
    assert spread.within == pytest.approx(0.04, rel=0.2)
    assert spread.queries == 1_000


def test_a_pilot_in_which_nothing_changed_still_lets_something_change() -> None:
    spread = difference_spread([[0.0]] * 10)
    assert spread.changed == pytest.approx(2 / 12)
    assert (queries_for(spread, 0.1) or 0) > 20
    with pytest.raises(ValueError, match="at least two queries"):
        difference_spread([[1.0]])


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([0.0, 1.0, -1.0], 1.0),
        ([0.5, -1.0, 0.0], 0.5),
        ([1 / 3, -0.5], 1 / 6),
        ([0.25, 0.75], 0.25),
        ([0.1234567, 0.5], 0.0),
        ([1 / 59, 1 / 58], 0.0),
    ],
)
def test_what_differences_are_multiples_of_is_found(values: list[float], step: float) -> None:
    assert difference_spread([[value] for value in values]).step == pytest.approx(step)


def test_repeats_do_not_replace_queries() -> None:
    """However exact the mean of twenty queries is, others may differ more: the verdict says so too."""
    exact = DifferenceSpread(None, 0.0, 0.1)
    least = smallest_difference(exact, 20, repeats=1_000)
    assert least is not None
    assert 0.1 < least < 0.13
    noise = [0.001, -0.001] * 10
    below, above = ([least + shift + own for own in noise] for shift in (-0.02, 0.02))
    assert paired_interval(below, unseen=UNSEEN).low < 0 < paired_interval(above, unseen=UNSEEN).low


def test_more_repeats_than_the_pilots_need_no_more_queries() -> None:
    random = np.random.default_rng(6)
    pilot = difference_spread((random.integers(0, 2, (30, 2)) - random.integers(0, 2, (30, 2))).tolist())
    one, few, many = (queries_for(pilot, 0.1, repeats=repeats) or 0 for repeats in (1, 2, 10))
    assert many < few < one
