"""The power of larger comparisons, as a pilot shows it."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import for_each
from support.examples import examples

from trialbed.statistics import Pilot

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
