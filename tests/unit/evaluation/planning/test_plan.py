"""The power that is planned is the power that the verdicts have."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from trialbed.errors import DataError, UsageError
from trialbed.report.comparison import ComparedRun, ComparedTrial, Side, paired_findings
from trialbed_evaluation.planning import (
    QueryPlanOptions,
    WholeQueries,
    difference_power,
    difference_spread,
    equivalence_power,
    finds_better,
    is_promised,
    plan,
    plan_sides,
    queries_for,
)

SCORE = "sopr_score"

DRAWS = 400
NEAR = 0.03 + 4 * (0.2 * 0.8 / DRAWS) ** 0.5
"""Three points, and four standard errors of so few draws."""


@pytest.fixture(autouse=True)
def _fewer_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough for these bounds, and quicker."""
    monkeypatch.setattr("trialbed_evaluation.planning._power.COMPARISONS", 300)


def side(name: str, values: NDArray[Any]) -> Side:
    trials = [
        ComparedTrial(place, {SCORE: float(value)}, repeat=repeat)
        for place, row in enumerate(values)
        for repeat, value in enumerate(row)
    ]
    return Side(name, name, ComparedRun(name, run_id=name), trials, frozenset({SCORE}), frozenset({SCORE}))


def verdict(first: NDArray[Any], second: NDArray[Any], margin: float = 0.05) -> str:
    (found,) = paired_findings([(side("a", first), side("b", second))], margin, [SCORE])
    return found.verdict


@cache
def verdict_of_counts(queries: int, better: int, worse: int, margin: float) -> str:
    """Whichever the queries are: the verdict goes by their numbers."""
    first = np.array([0.0] * better + [1.0] * (queries - better))
    return verdict(first[:, None], np.array([1.0] * (queries - worse) + [0.0] * worse)[:, None], margin)


def solved(
    random: np.random.Generator, queries: int, changed: float, difference: float, margin: float = 0.05
) -> list[str]:
    """Verdicts on scores of 0 and 1 that differ on this share of queries, by this much on average."""
    chances = [(changed + difference) / 2, (changed - difference) / 2, 1 - changed]
    counts = random.multinomial(queries, chances, size=DRAWS)
    return [verdict_of_counts(queries, int(better), int(worse), margin) for better, worse, _ in counts]


def share(verdicts: list[str], wanted: str) -> float:
    return verdicts.count(wanted) / len(verdicts)


@pytest.mark.parametrize(
    ("queries", "changed", "difference"), [(20, 0.6, 0.45), (60, 0.3, 0.2), (60, 1.0, 0.35), (150, 0.2, 0.12)]
)
def test_the_power_of_solved_queries_is_as_promised(queries: int, changed: float, difference: float) -> None:
    verdicts = solved(np.random.default_rng(7), queries, changed, difference)
    promised = difference_power(WholeQueries(changed), queries, difference)
    assert share(verdicts, "better") == pytest.approx(promised, abs=NEAR)


def repeated(random: np.random.Generator, queries: int, repeats: int, difference: float) -> tuple[Any, Any]:
    """Scores of 0 and 1 of queries that are solved more or less often."""
    chance = random.beta(1.2, 0.8, size=(queries, 1)) * (1 - difference)
    first = random.random((queries, repeats)) < chance
    second = random.random((queries, repeats)) < chance + difference
    return first.astype(float), second.astype(float)


def test_the_power_of_repeats_is_as_promised_by_a_pilot_with_others() -> None:
    random = np.random.default_rng(11)
    first, second = repeated(random, 5_000, 2, 0.18)
    promised = difference_power(difference_spread((second - first).tolist()), 40, 0.18, repeats=3)
    assert 0.5 < promised < 0.95
    verdicts = [verdict(*repeated(random, 40, 3, 0.18)) for _ in range(DRAWS // 2)]
    assert share(verdicts, "better") == pytest.approx(promised, abs=NEAR + 0.03)


@pytest.mark.parametrize(("repeats", "planned"), [(1, 1), (3, 3), (10, 3)])
def test_pilots_promise_on_average_what_is_true(repeats: int, planned: int) -> None:
    """The power at the numbers of queries that pilots of forty name is the one that was asked for."""
    random = np.random.default_rng(4)
    pilots = [difference_spread(np.subtract(*repeated(random, 40, repeats, 0.2)[::-1]).tolist()) for _ in range(10)]
    numbers = [queries_for(pilot, 0.2, repeats=planned) or 0 for pilot in pilots if is_promised(pilot, planned, 0.2)]
    assert len(numbers) > 7
    powers = [real_power(queries, planned, 0.2) for queries in numbers]
    assert np.mean(powers) == pytest.approx(0.8, abs=0.03 + 4 * np.std(powers) / len(powers) ** 0.5)


@cache
def real_power(queries: int, repeats: int, difference: float) -> float:
    random = np.random.default_rng(queries)
    first, second = repeated(random, queries * DRAWS, repeats, difference)
    means = np.round((second - first).mean(1), 9).reshape(DRAWS, queries)
    return float(finds_better(means, random, step=1 / repeats).mean())


def test_equivalence_is_shown_as_often_as_promised() -> None:
    promised = equivalence_power(WholeQueries(0.1), 200, 0.07)
    assert 0.5 < promised < 0.95
    verdicts = solved(np.random.default_rng(3), 200, 0.1, 0.0, 0.07)
    assert share(verdicts, "equivalent") == pytest.approx(promised, abs=NEAR)


def test_a_pilot_tells_the_plan(write: Any) -> None:
    found = {query: {"sopr_score": query % 2, "total_tokens": 100} for query in range(1, 41)}
    other = {query: {"sopr_score": 1 if query % 4 else 0, "total_tokens": 300} for query in range(1, 41)}
    values = [str(write("reference", found)), str(write("langgraph", other))]
    sides, baseline = plan_sides(values, None, None)
    document = plan(sides, baseline, QueryPlanOptions(queries=(20, 200), difference=0.2))
    (pilot,) = document["pilots"]
    assert (pilot["baseline"], pilot["candidate"], pilot["queries"]) == ("reference", "langgraph", 40)
    assert pilot["changed"] == 0.25
    assert pilot["difference"] == pytest.approx(0.25)
    first, second = (found["difference"] for found in pilot["smallest"])
    assert first > second
    assert pilot["needed"][0]["queries"] < 100
    assert document["tokens_per_trial"] == {"reference": 100, "langgraph": 300}
    turned, _ = plan_sides(values, None, "langgraph")
    assert plan(turned, turned[1], QueryPlanOptions())["pilots"][0]["candidate"] == "reference"


def test_without_two_sides_the_worst_case_is_planned(write: Any) -> None:
    nothing = plan(*plan_sides((), None, None), QueryPlanOptions())
    assert nothing["pilots"][0]["changed"] == 1
    assert nothing["tokens_per_trial"] == {}
    one = plan(
        *plan_sides([str(write("reference", {1: {"sopr_score": 1, "total_tokens": 50}}))], None, None),
        QueryPlanOptions(),
    )
    assert one["tokens_per_trial"] == {"reference": 50}
    assert one["pilots"] == nothing["pilots"]


def test_a_pilot_that_tells_nothing_is_refused(write: Any) -> None:
    values = [str(write(name, {1: {"sopr_score": 1}})) for name in ("a", "b")]
    sides, baseline = plan_sides(values, None, None)
    with pytest.raises(DataError, match="at least two"):
        plan(sides, baseline, QueryPlanOptions())
    with pytest.raises(DataError, match="no score of quality 'wall_time'; it has api_f1, sopr_score"):
        plan(sides, baseline, QueryPlanOptions(score="wall_time"))
    with pytest.raises(UsageError, match="--against"):
        plan_sides(values, None, "c")
    with pytest.raises(DataError, match="no score of quality 'wall_time'"):
        plan(sides[:1], None, QueryPlanOptions(score="wall_time"))
