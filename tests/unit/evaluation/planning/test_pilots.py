"""Pilots, and populations that could have given them."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import for_each

from trialbed_evaluation.planning import WORST_CASE, pilot_of


def test_a_pilot_is_split_into_queries_and_noise() -> None:
    random = np.random.default_rng(5)
    own = random.normal(0, 0.3, size=(1_000, 1))
    pilot = pilot_of((own + random.normal(0, 0.2, size=(1_000, 3))).tolist())
    assert pilot.changed is None
    assert pilot.between == pytest.approx(0.09, rel=0.2)
    assert pilot.within == pytest.approx(0.04, rel=0.2)
    assert (pilot.queries, pilot.repeats) == (1_000, 3)


def test_a_pilot_needs_two_queries() -> None:
    with pytest.raises(ValueError, match="at least two queries"):
        pilot_of([[1.0]])


@for_each("repeats", [1, 2, 3, 9])
@for_each("difference", [0.0, 0.12])
def test_populations_have_the_mean_asked_for_and_the_variance_of_so_many_repeats(
    repeats: int, difference: float
) -> None:
    random = np.random.default_rng(8)
    chance = random.choice([0.1, 0.5, 0.9], size=(400, 1))
    first, second = (random.random((400, 3)) < chance - shift for shift in (0.0, 0.05))
    pilot = pilot_of(np.subtract(first, second, dtype=float).tolist())
    populations = pilot.populations(200, repeats, difference)
    means = (populations.weights * populations.values).sum(1)
    assert means == pytest.approx(np.full(200, difference))
    variance = float(pilot.between + pilot.within / repeats)
    assert populations.variances.mean() == pytest.approx(variance, rel=0.25)
    assert set(populations.draw(random, 50).sum(1).tolist()) == {50}


def test_the_order_of_queries_and_repeats_makes_no_difference() -> None:
    values = np.random.default_rng(2).normal(0.1, 0.2, (40, 3)).tolist()
    assert pilot_of(values) == pilot_of([own[::-1] for own in values[::-1]])


def test_queries_that_lack_a_repeat_keep_those_that_they_have() -> None:
    pilot = pilot_of([[1.0, 0.0, 1.0], [0.5], [0.0, 0.0], [-0.5, 0.5], []] * 10)
    assert pilot.queries == 40
    assert set(pilot.populations(1, 1, 0.25).values[0].tolist()) == {-1.0, -0.5, 0.0, 0.5, 1.0}


def test_queries_that_a_pilot_lacks_have_a_share() -> None:
    populations = pilot_of([[0.0]] * 9).populations(2_000, 1, 0.0)
    # Of whichever size they are: the pilot shows none.
    assert populations.values[0].tolist() == [-1, -0.5, -0.25, 0, 0.25, 0.5, 1]
    assert 1 - populations.weights[:, 3].mean() == pytest.approx(0.18, abs=0.03)
    populations = pilot_of([[0.0]] * 9 + [[1.0]]).populations(2_000, 1, 0.1)
    assert populations.values[0].tolist() == [-1, 0, 1]
    assert 0 < populations.weights[:, 0].mean() < 0.05


def test_the_worst_case_is_one_population() -> None:
    populations = WORST_CASE.populations(3, 1, 0.5)
    assert populations.weights == pytest.approx(np.array([[0.25, 0.75]] * 3))
    assert populations.is_whole
    assert WORST_CASE.queries == 0


def test_a_pilot_is_taken_in_favour_of_its_better_side() -> None:
    losses = [[-1.0]] * 15 + [[0.0]] * 25
    assert pilot_of(losses) == pilot_of([[-value for value in own] for own in losses])
    assert pilot_of(losses).difference == 0.375


def test_very_many_queries_leave_open_what_as_many_single_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0], [0.0, 0.0]] * 500
    alike = pilot_of(queries)
    found = alike.populations(400, 3, 0.1).variances
    monkeypatch.setattr("trialbed_evaluation.planning._pilots.LARGE", 10_000)
    single = pilot_of(queries)
    expected = single.populations(400, 3, 0.1).variances
    for name in ("queries", "repeats", "difference", "changed", "within", "between"):
        assert getattr(alike, name) == pytest.approx(getattr(single, name)), name
    assert found.mean() == pytest.approx(expected.mean(), rel=0.01)
    assert found.std() == pytest.approx(expected.std(), rel=0.2)


def test_very_many_queries_of_few_differences_keep_them() -> None:
    thirds = pilot_of([[1 / 3, 0.0]] * 2_900 + [[-1.0, -2 / 3]] * 100)
    assert thirds.difference == pytest.approx((2_900 / 6 - 100 * 5 / 6) / 3_000)
    assert {0.333333333, -0.666666667} <= set(thirds.populations(1, 1, 0.1).values[0].tolist())


def test_very_many_differences_are_rounded_but_for_their_mean() -> None:
    values = np.random.default_rng(4).exponential(0.01, 3_000)
    values[0] = 1.0
    pilot = pilot_of([[value] for value in values.tolist()])
    assert pilot.difference == pytest.approx(values.mean())
    assert pilot.between == pytest.approx(values.var(ddof=1), rel=0.02)
    assert len(pilot._alike) < 100
