"""Many verdicts at once are those that comparisons get one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from trialbed.report.comparison import ComparedRun, ComparedTrial, Side, paired_findings
from trialbed_evaluation.planning import finds_better, finds_equivalent

SCORE = "sopr_score"

MARGIN = 0.15


def verdict(differences: NDArray[Any]) -> str:
    pair = [
        Side(
            name,
            name,
            ComparedRun(name, run_id=name),
            [ComparedTrial(place, {SCORE: float(value)}, repeat=0) for place, value in enumerate(values)],
            frozenset({SCORE}),
            frozenset({SCORE}),
        )
        for name, values in (("a", np.maximum(-differences, 0)), ("b", np.maximum(differences, 0)))
    ]
    (found,) = paired_findings([(pair[0], pair[1])], MARGIN, [SCORE])
    return found.verdict


def whole(random: np.random.Generator) -> NDArray[Any]:
    return random.choice([-1.0, 0.0, 1.0], p=[0.1, 0.5, 0.4], size=(40, 20))


def halves(random: np.random.Generator) -> NDArray[Any]:
    return random.choice([-1, -0.5, 0, 0.5, 1], p=[0.05, 0.1, 0.35, 0.35, 0.15], size=(40, 25))


def tenths(random: np.random.Generator) -> NDArray[Any]:
    return (random.binomial(10, 0.6, (40, 20)) - random.binomial(10, 0.5, (40, 20))) / 10


def rare(random: np.random.Generator) -> NDArray[Any]:
    shape = (40, 60)
    return np.where(random.random(shape) < 0.01, -1.0, np.clip(random.normal(0.06, 0.05, shape), -1, 1))


@pytest.mark.parametrize(("draw", "step"), [(whole, 1.0), (halves, 0.5), (tenths, 0.1), (rare, 0.0)])
def test_verdicts_are_those_of_comparisons(draw: Any, step: float) -> None:
    random = np.random.default_rng(3)
    drawn = draw(random)
    better = finds_better(drawn, random, step=step)
    equivalent = finds_equivalent(drawn, MARGIN, random, step=step)
    one_by_one = [verdict(row) for row in drawn]
    # A p-value next to 0.05 may fall on either side, as signs are drawn.
    assert sum(found != (told == "better") for found, told in zip(better, one_by_one, strict=True)) <= 2
    assert sum(found != (told == "equivalent") for found, told in zip(equivalent, one_by_one, strict=True)) <= 2
    assert better.any() or equivalent.any()


def test_comparisons_without_a_difference_are_neither() -> None:
    random = np.random.default_rng(3)
    nothing = np.zeros((2, 200))
    assert not finds_better(nothing, random).any()
    assert not finds_equivalent(nothing, MARGIN, random).any()
