"""Comparisons like those of a pilot."""

from __future__ import annotations

import numpy as np
import pytest

from trialbed_evaluation.planning import Pilot, difference_spread


def pilot_of(values: list[list[float]]) -> Pilot:
    found = difference_spread(values)
    assert isinstance(found, Pilot)
    return found


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
    assert pilot_of([[value] for value in values]).step == pytest.approx(step)


@pytest.mark.parametrize("repeats", [1, 2, 3, 9])
@pytest.mark.parametrize("difference", [0.0, 0.12, 0.3])
def test_comparisons_have_the_mean_asked_for_and_the_variance_of_so_many_repeats(
    repeats: int, difference: float
) -> None:
    random = np.random.default_rng(8)
    chance = random.choice([0.1, 0.5, 0.9], size=(400, 1))
    first, second = (random.random((400, 3)) < chance - shift for shift in (0.0, 0.05))
    pilot = pilot_of(np.subtract(first, second, dtype=float).tolist())
    drawn, _ = pilot.draw(random, 400, 100, repeats, difference)
    assert drawn.mean() == pytest.approx(difference, abs=0.015)
    assert drawn.var() == pytest.approx(pilot.variance(repeats, difference), rel=0.15)


def test_queries_that_lack_a_repeat_keep_those_that_they_have() -> None:
    pilot = pilot_of([[1.0, 0.0, 1.0], [0.5], [0.0, 0.0], [-0.5, 0.5]] * 10)
    drawn, whole = pilot.draw(np.random.default_rng(1), 200, 40, 1, 0.25)
    assert set(np.unique(np.round(drawn / whole, 6))) <= {-1.0, -0.5, 0.0, 0.5, 1.0}
