"""The power that is planned is the power that the verdicts have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from trialbed.comparison import PlanOptions, paired_findings, plan, plan_sides
from trialbed.comparison._sides import Side, Trial
from trialbed.errors import DataError, UsageError
from trialbed.statistics import DifferenceSpread, difference_power, difference_spread, equivalence_power

SCORE = "sopr_score"

DRAWS = 400
NEAR = 0.03 + 0.03
"""Three points, and the error of so few draws."""


def side(name: str, values: NDArray[Any]) -> Side:
    trials = [
        Trial(place, {SCORE: float(value)}, repeat=repeat)
        for place, row in enumerate(values)
        for repeat, value in enumerate(row)
    ]
    return Side(name, name, {"run_id": name}, trials, frozenset({SCORE}), frozenset({SCORE}))


def verdict(first: NDArray[Any], second: NDArray[Any], margin: float = 0.05) -> str:
    (found,) = paired_findings([(side("a", first), side("b", second))], margin, [SCORE])
    return found.verdict


def solved(random: np.random.Generator, queries: int, changed: float, difference: float) -> tuple[Any, Any]:
    """Scores of 0 and 1 that differ on this share of queries, by this much on average."""
    drawn = random.random((queries, 1))
    better, worse = drawn < (changed + difference) / 2, drawn > 1 - (changed - difference) / 2
    same = random.random((queries, 1)) < 0.6
    return np.where(better, 0.0, np.where(worse, 1.0, same)), np.where(better, 1.0, np.where(worse, 0.0, same))


def share(verdicts: list[str], wanted: str) -> float:
    return verdicts.count(wanted) / len(verdicts)


@pytest.mark.parametrize(
    ("queries", "changed", "difference"), [(20, 0.6, 0.45), (60, 0.3, 0.2), (60, 1.0, 0.35), (300, 0.2, 0.08)]
)
def test_the_power_of_solved_queries_is_as_promised(queries: int, changed: float, difference: float) -> None:
    random = np.random.default_rng(7)
    verdicts = [verdict(*solved(random, queries, changed, difference)) for _ in range(DRAWS)]
    promised = difference_power(DifferenceSpread(changed, changed), queries, difference)
    assert share(verdicts, "better") == pytest.approx(promised, abs=NEAR)


def repeated(random: np.random.Generator, queries: int, repeats: int, difference: float) -> tuple[Any, Any]:
    """Scores of 0 and 1 of queries that are solved more or less often."""
    chance = random.beta(1.2, 0.8, size=(queries, 1)) * (1 - difference)
    first = random.random((queries, repeats)) < chance
    second = random.random((queries, repeats)) < chance + difference
    return first.astype(float), second.astype(float)


@pytest.mark.parametrize(("queries", "repeats", "difference"), [(40, 3, 0.18), (100, 5, 0.09)])
def test_the_power_of_repeats_is_as_promised_by_a_pilot_with_others(
    queries: int, repeats: int, difference: float
) -> None:
    random = np.random.default_rng(11)
    first, second = repeated(random, 20_000, 2, difference)
    spread = difference_spread((second - first).tolist())
    promised = difference_power(spread, queries, difference, repeats=repeats)
    assert 0.5 < promised < 0.95
    verdicts = [verdict(*repeated(random, queries, repeats, difference)) for _ in range(DRAWS)]
    assert share(verdicts, "better") == pytest.approx(promised, abs=NEAR)


def test_equivalence_is_shown_as_often_as_promised() -> None:
    random = np.random.default_rng(3)
    promised = equivalence_power(DifferenceSpread(0.1, 0.1), 400, 0.05)
    assert 0.5 < promised < 0.95
    verdicts = [verdict(*solved(random, 400, 0.1, 0.0)) for _ in range(DRAWS)]
    assert share(verdicts, "equivalent") == pytest.approx(promised, abs=NEAR)


def test_a_pilot_tells_the_plan(write: Any) -> None:
    found = {query: {"sopr_score": query % 2, "total_tokens": 100} for query in range(1, 41)}
    other = {query: {"sopr_score": 1 if query % 4 else 0, "total_tokens": 300} for query in range(1, 41)}
    values = [str(write("reference", found)), str(write("langgraph", other))]
    sides, baseline = plan_sides(values, None, None)
    document = plan(sides, baseline, PlanOptions(queries=(20, 200), difference=0.2))
    (pilot,) = document["pilots"]
    assert (pilot["baseline"], pilot["candidate"], pilot["queries"]) == ("reference", "langgraph", 40)
    assert pilot["changed"] == 0.25
    first, second = (found["difference"] for found in pilot["smallest"])
    assert first > second
    assert pilot["needed"][0]["queries"] < 100
    assert document["tokens_per_trial"] == {"reference": 100, "langgraph": 300}
    turned, _ = plan_sides(values, None, "langgraph")
    assert plan(turned, turned[1], PlanOptions())["pilots"][0]["candidate"] == "reference"


def test_without_two_sides_the_worst_case_is_planned(write: Any) -> None:
    nothing = plan(*plan_sides((), None, None), PlanOptions())
    assert nothing["pilots"][0]["changed"] == 1
    assert nothing["tokens_per_trial"] == {}
    one = plan(
        *plan_sides([str(write("reference", {1: {"sopr_score": 1, "total_tokens": 50}}))], None, None), PlanOptions()
    )
    assert one["tokens_per_trial"] == {"reference": 50}
    assert one["pilots"] == nothing["pilots"]


def test_a_pilot_that_tells_nothing_is_refused(write: Any) -> None:
    values = [str(write(name, {1: {"sopr_score": 1}})) for name in ("a", "b")]
    sides, baseline = plan_sides(values, None, None)
    with pytest.raises(DataError, match="at least two"):
        plan(sides, baseline, PlanOptions())
    with pytest.raises(DataError, match="no score of quality 'wall_time'; it has api_f1, sopr_score"):
        plan(sides, baseline, PlanOptions(score="wall_time"))
    with pytest.raises(UsageError, match="--against"):
        plan_sides(values, None, "c")
    with pytest.raises(DataError, match="no score of quality 'wall_time'"):
        plan(sides[:1], None, PlanOptions(score="wall_time"))
