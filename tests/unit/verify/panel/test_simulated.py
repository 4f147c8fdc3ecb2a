"""The verdicts on played vendors, at a size that shows something; benchmarks/vendor_impostors.py has all of them."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow(30)

ROOT = Path(__file__).parents[4]
CASES, TRIALS, COMPARISONS = 600, 4, 12

DAMAGING = (
    "a stack of smaller faults (6 %)",
    "wrong in 5 % of the answers",
    "ignores `tool_choice`",
    "texts cut in half, 8 %",
    "no answer, 3.5 %",
)
DEARER = ("usage + 3 %", "a billed system prompt")


@pytest.fixture(scope="module")
def simulation() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        import vendor_impostors

        yield vendor_impostors
        for name in [name for name in sys.modules if name.partition(".")[0] in ("vendors", "vendor_impostors")]:
            del sys.modules[name]


@pytest.fixture(scope="module")
def pool(simulation: Any) -> Any:
    """Answers of one model, more of each case than a comparison takes."""
    return simulation.played(CASES, 3 * TRIALS, 1, simulation.faithful)


def test_the_same_model_is_hardly_ever_different_and_mostly_equivalent(simulation: Any, pool: Any) -> None:
    sides = (simulation.draw_sides(pool[0], TRIALS, seed) for seed in range(COMPARISONS))
    found = Counter(simulation.judged(*pair, seed).finding for seed, pair in enumerate(sides))
    assert found["different"] <= 0.05 * COMPARISONS
    # With a size at which nothing is equivalent, no impostor would be either.
    assert found["equivalent"] >= 0.6 * COMPARISONS


@pytest.mark.parametrize("name", DAMAGING + DEARER)
def test_no_vendor_that_breaks_answers_or_bills_more_is_equivalent(name: str, simulation: Any, pool: Any) -> None:
    answers, _, usual = pool
    baseline, _ = simulation.draw_sides(answers, TRIALS, 1)
    vendor, damaged, cost = simulation.played(CASES, TRIALS, 1000, {**simulation.REPORTED, **simulation.FURTHER}[name])
    assert damaged >= simulation.BREAKING or cost >= (1 + simulation.DEARER) * usual
    assert simulation.judged(baseline, vendor, 0).finding != "equivalent"
