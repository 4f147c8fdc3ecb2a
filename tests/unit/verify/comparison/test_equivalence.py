from __future__ import annotations

import numpy as np
import pytest
from support.cases import for_each

from trialbed_verify.comparison._verdict import Equivalence, judge_equivalence


def judged(mean: float, spread: float, margin: float = 0.02) -> Equivalence:
    return judge_equivalence(mean, np.random.default_rng(3).normal(mean, spread, size=4000), margin)


@for_each(
    ("mean", "spread", "finding"),
    [
        (0.0, 0.005, "equivalent"),
        (-0.01, 0.005, "equivalent"),
        (0.0, 0.05, "inconclusive"),
        (-0.02, 0.005, "inconclusive"),
        (-0.03, 0.02, "inconclusive"),
        (-0.05, 0.005, "different"),
        (0.05, 0.005, "different"),
    ],
)
def test_a_difference_is_small_large_or_not_known(mean: float, spread: float, finding: str) -> None:
    assert judged(mean, spread).finding == finding


def test_the_finding_and_the_interval_say_the_same() -> None:
    for mean in np.linspace(-0.06, 0.06, 41):
        found = judged(float(mean), 0.01)
        within = found.interval.low > -0.02 and found.interval.high < 0.02
        outside = found.interval.high < -0.02 or found.interval.low > 0.02
        assert (found.finding == "equivalent") == within
        assert (found.finding == "different") == outside
        assert found.interval.level == pytest.approx(0.9)


def test_p_values_are_those_of_two_one_sided_tests() -> None:
    found = judged(0.005, 0.01)
    assert found.p_equivalent == pytest.approx(0.0668, abs=0.015)  # 1 - Phi(1.5)
    assert found.p_different == pytest.approx(0.9332, abs=0.015)


def test_undefined_draws_are_left_out() -> None:
    draws = np.array([0.0, np.nan, 0.001, -0.001] * 500)
    assert judge_equivalence(0.0, draws, 0.02).finding == "equivalent"
