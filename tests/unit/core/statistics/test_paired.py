"""Tests of paired differences, alone and many at once, and the power of larger comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.cases import for_each
from support.examples import examples

from trialbed.statistics import (
    PairedTest,
    Pilot,
    holm,
    mcnemar,
    paired_interval,
    paired_intervals,
    paired_p_values,
    paired_test,
)


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


def test_nothing_discordant_is_no_finding() -> None:
    assert mcnemar(0, 0) == 1.0
    assert sign_flip(np.zeros(20)) == 1.0


def test_sign_flips_find_what_all_patterns_give() -> None:
    differences = np.array([1.5, -0.2, 2.0, 0.7, 1.1, -0.4, 0.9])
    signs = np.array(np.meshgrid(*[[-1, 1]] * 7)).reshape(7, -1)
    exact = float((np.abs(differences @ signs) >= abs(differences.sum()) - 1e-9).mean())
    assert sign_flip(differences) == pytest.approx(exact)
    assert sign_flip(differences, draws=100) == pytest.approx(exact, abs=0.1)


def test_sign_flips_of_yes_and_no_agree_with_the_exact_test() -> None:
    differences = np.array([1.0] * 15 + [-1.0] * 5 + [0.0] * 80)
    assert sign_flip(differences, draws=40_000) == pytest.approx(mcnemar(15, 5), abs=0.01)


def test_a_p_value_is_never_zero_and_always_the_same() -> None:
    differences = np.random.default_rng(1).normal(3, 1, size=300)
    assert sign_flip(differences, draws=999) == 1 / 1000
    even = np.random.default_rng(2).normal(0, 1, size=300)
    assert sign_flip(even) == sign_flip(even)


def test_the_test_follows_from_the_differences() -> None:
    assert paired_test([1.0, 1.0, 0.0, -1.0]) == PairedTest("McNemar", mcnemar(1, 2), 2, 1)
    found = paired_test([0.5, 1.0, -1.0])
    assert found == PairedTest("sign flips", sign_flip(np.array([0.5, 1.0, -1.0])))
    assert paired_test(np.array([0.0, 0.0])) == PairedTest("McNemar", 1.0, 0, 0)
    assert paired_test(iter([1.0, 0.0, -1.0])) == paired_test([1.0, 0.0, -1.0])


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


@given(st.dictionaries(st.integers(), st.floats(0, 1), max_size=12))
def test_a_corrected_p_value_is_never_smaller_and_keeps_the_order(p_values: dict[int, float]) -> None:
    found = holm(p_values)
    assert all(p_values[test] <= found[test] <= 1 for test in p_values)
    ordered = sorted(p_values, key=lambda test: p_values[test])
    assert [found[test] for test in ordered] == sorted(found.values())


VALUES = (-1.0, -0.6, -0.05, 0.0, 1 / 3, 1.0)
DRAWS = 1_999

Comparisons = Sequence[Sequence[int]]
comparisons = st.lists(
    st.lists(st.integers(0, 9), min_size=len(VALUES), max_size=len(VALUES)).filter(any), min_size=1, max_size=4
)
whole = [5, 0, 0, 2, 0, 30]


@given(comparisons, st.sampled_from([1.0, 2.0, None]))
def test_intervals_are_those_of_each(drawn: Comparisons, largest: float | None) -> None:
    counts = np.array([*drawn, whole])
    found = zip(*paired_intervals(np.tile(VALUES, (len(counts), 1)), counts, largest=largest), strict=True)
    for row, ends in zip(counts.tolist(), found, strict=True):
        interval = paired_interval(
            {value: times for value, times in zip(VALUES, row, strict=True) if times}, largest=largest
        )
        assert ends == pytest.approx((interval.low, interval.high), abs=1e-9)


@given(comparisons)
@example([[4, 0, 0, 0, 9, 1]])  # whose sum is 0 but for rounding
def test_p_values_are_those_of_each(drawn: Comparisons) -> None:
    counts = np.array([*drawn, whole])
    found = paired_p_values(np.tile(VALUES, (len(counts), 1)), counts, draws=DRAWS)
    for row, p in zip(counts.tolist(), found.tolist(), strict=True):
        known = np.repeat(VALUES, row)
        # Beyond ten cases, signs are drawn, and not the same ones.
        assert p == pytest.approx(paired_test(known, draws=DRAWS).p, abs=1e-9 if sum(row) <= 10 else 0.08)


def test_very_many_different_values_have_the_interval_of_the_same_ones_in_fewer_steps() -> None:
    differences = np.random.default_rng(1).uniform(-0.3, 0.4, size=6_000)
    fine, coarse = paired_interval(differences), paired_interval(np.round(differences, 3))
    assert (fine.low, fine.high) == pytest.approx((coarse.low, coarse.high), abs=1e-4)


MARGIN = 0.05

pilots = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=2, max_size=60).map(Pilot.of)


def decided(pilot: Pilot, queries: int, comparisons: int = 1) -> float:
    return 1 - pilot.verdicts(queries, MARGIN, comparisons=comparisons).get("too few", 0.0)


def test_the_power_of_mcnemars_test_is_the_known_one() -> None:
    """Source: J. Connor, "Sample Size for Testing Differences in Proportions for the Paired-Sample Design" (1987)."""
    gained, lost, queries = 0.25, 0.1, 150
    changed, difference = gained + lost, gained - lost
    z = (difference * queries**0.5 - 1.96 * changed**0.5) / (changed - difference**2) ** 0.5
    found = Pilot.of({1.0: 25, -1.0: 10, 0.0: 65}).verdicts(queries, MARGIN)
    # The correction for continuity makes the test a little more careful than the formula.
    assert found["better"] == pytest.approx(NormalDist().cdf(z), abs=0.08)


@given(pilots)
@settings(max_examples=examples(0.5))
def test_more_queries_are_needed_than_there_are_and_power_rises_with_them(pilot: Pilot) -> None:
    queries = sum(times for _, times in pilot.counts)
    enough = pilot.enough(MARGIN, beyond=queries)
    if enough is not None:
        assert enough.queries > queries
        assert decided(pilot, enough.queries) >= 0.8
        assert decided(pilot, 4 * enough.queries) >= decided(pilot, enough.queries) - 0.1


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


def test_comparisons_that_are_made_together_need_more() -> None:
    pilot = Pilot.of([-1.0] * 4 + [0.0] * 26)
    assert decided(pilot, 70, comparisons=10) < decided(pilot, 70) - 0.1


def test_no_number_is_enough_for_a_mean_that_is_nearly_the_margin() -> None:
    differences = np.random.default_rng(1).permutation([1.0, -1.0] * 40)
    assert Pilot.of(differences).enough(0.01) is None


def test_very_many_different_values_are_taken_in_steps() -> None:
    differences = np.random.default_rng(2).normal(0.1, 0.3, 3_000).clip(-1, 1)
    pilot = Pilot.of(differences)
    assert len(pilot.counts) <= 41
    mean = sum(value * times for value, times in pilot.counts) / 3_000
    assert mean == pytest.approx(differences.mean(), abs=0.002)


def test_without_bounds_the_unit_makes_no_difference() -> None:
    differences = np.random.default_rng(3).normal(3, 9, 50)
    each = [Pilot.of(differences * unit, largest=None).enough(0.05 * unit) for unit in (1.0, 1_000.0)]
    assert each[0] == each[1] is not None
