"""The interval of paired differences: against published values, and how often it covers the truth."""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np
import pytest
from support.cases import for_each

from trialbed.statistics import UNSEEN, Interval, paired_interval


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
    differences = np.random.default_rng(1).normal(0.02, 0.1, size=400)
    half = 1.96 * differences.std() / 20
    found = paired_interval(differences.tolist())
    assert (found.low, found.high) == pytest.approx(
        (differences.mean() - half, differences.mean() + half), abs=0.02 * half
    )


def test_small_changes_have_the_interval_of_whole_ones_on_their_scale() -> None:
    low, high, _ = paired_interval([0.0] * 19 + [-0.2])
    assert (-high, -low) == pytest.approx((-0.119181 * 0.2, 0.236131 * 0.2), rel=0.03)


def test_where_all_differ_by_as_much_others_may_differ_by_more() -> None:
    low, high, _ = paired_interval([0.5] * 20)
    assert low < 0.45
    assert 0.55 < high < 0.7


def test_it_can_leave_room_for_changes_that_were_not_seen() -> None:
    low, high, _ = paired_interval([0.0] * 19 + [-0.2], unseen=UNSEEN)
    assert low < -0.09
    assert high > 0.07
    whole = [1.0, -1.0] + [0.0] * 18
    assert paired_interval(whole, unseen=UNSEEN) == paired_interval(whole)


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
    samples = 150
    chances = random.beta(2, 2, size=(samples, queries))
    theirs = np.where(random.random(chances.shape) < 2 * lost, 0.0, chances)
    differences = ((random.binomial(repeats, theirs) - random.binomial(repeats, chances)) / repeats).round(9)
    found = [paired_interval(row.tolist()) for row in differences]
    covered = np.mean([low <= -lost <= high for low, high, _ in found])
    # Four standard errors of so few samples below 93 %.
    assert covered >= 0.93 - 4 * (0.93 * 0.07 / samples) ** 0.5


def test_of_few_small_differences_it_is_hardly_wider_than_students() -> None:
    differences = np.random.default_rng(3).normal(0.0, 0.1, size=20)
    half = 2.093 * differences.std(ddof=1) / 20**0.5
    low, high, _ = paired_interval(differences.tolist())
    assert (high - low) / 2 == pytest.approx(half, rel=0.08)


def test_a_few_queries_that_lose_everything_can_be_allowed_for() -> None:
    """One query in ten loses all, the others next to nothing: often none of those that lose is seen."""
    random = np.random.default_rng(4)
    chances = random.beta(30, 2, size=(200, 20))
    theirs = np.where(random.random(chances.shape) < 0.1 / chances, 0.0, chances)
    differences = ((random.binomial(5, theirs) - random.binomial(5, chances)) / 5).round(9)
    found = [paired_interval(row, unseen=UNSEEN) for row in differences.tolist()]
    assert np.mean([low <= -0.1 <= high for low, high, _ in found]) >= 0.93 - 0.06
