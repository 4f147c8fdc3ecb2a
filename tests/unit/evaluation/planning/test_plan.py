"""The power that is planned is the power that the verdicts have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.cases import for_each

from trialbed.errors import DataError, UsageError
from trialbed.prices import read_prices
from trialbed.report.comparison import ComparedRun, ComparedTrial, Side, paired_findings, run_pairs
from trialbed.statistics import PairedVerdict
from trialbed_evaluation.planning import (
    EVERY,
    WORST_CASE,
    QueryPlanOptions,
    difference_power,
    equivalence_power,
    is_promised,
    pilot_of,
    plan,
    plan_sides,
    queries_for,
)
from trialbed_evaluation.planning.command import command

SCORE = "sopr_score"

DRAWS = 150
NEAR = 0.03 + 3 * (0.2 * 0.8 / DRAWS) ** 0.5
"""Three points, and three standard errors of so few draws."""


def side(name: str, values: NDArray[Any]) -> Side:
    trials = [
        ComparedTrial(place, {SCORE: float(value)}, repeat=repeat)
        for place, row in enumerate(values)
        for repeat, value in enumerate(row)
    ]
    return Side(name, name, ComparedRun(name, run_id=name), trials, frozenset({SCORE}), frozenset({SCORE}))


def share(verdict: PairedVerdict, pairs: Iterator[tuple[NDArray[Any], NDArray[Any]]], margin: float = 0.05) -> float:
    """The share of comparisons that ``bench compare`` gives this verdict."""
    found = [paired_findings([(side("a", one), side("b", other))], margin, [SCORE])[0].verdict for one, other in pairs]
    return found.count(verdict) / len(found)


def solved(random: np.random.Generator, queries: int, repeats: int, difference: float) -> tuple[Any, Any]:
    """Scores of 0 and 1 of queries that are solved more or less often."""
    chance = random.beta(1.2, 0.8, size=(queries, 1)) * (1 - difference)
    first = random.random((queries, repeats)) < chance
    second = random.random((queries, repeats)) < chance + difference
    return first.astype(float), second.astype(float)


def graded(random: np.random.Generator, queries: int, repeats: int, difference: float) -> tuple[Any, Any]:
    """Scores of 0, 0.5 and 1."""
    chance = random.beta(2, 2, size=(queries, 1)) * (1 - difference)
    shape = (queries, repeats)
    return random.binomial(2, np.broadcast_to(chance, shape)) / 2, random.binomial(
        2, np.broadcast_to(chance + difference, shape)
    ) / 2


@for_each(
    ("draw", "queries", "pilot_repeats", "repeats", "difference"),
    [(solved, 60, 1, 1, 0.22), (solved, 40, 3, 1, 0.25), (solved, 40, 2, 3, 0.18), (graded, 40, 1, 1, 0.2)],
)
def test_the_power_is_that_of_verdicts(
    draw: Any, queries: int, pilot_repeats: int, repeats: int, difference: float
) -> None:
    random = np.random.default_rng(11)
    one, other = draw(random, 2_000, pilot_repeats, difference)
    promised = difference_power(pilot_of((other - one).tolist()), queries, difference, repeats=repeats)
    assert 0.5 < promised < 0.95
    found = share("better", (draw(random, queries, repeats, difference) for _ in range(DRAWS)))
    assert found == pytest.approx(promised, abs=NEAR)


def test_the_power_of_the_worst_case_is_that_of_verdicts() -> None:
    random = np.random.default_rng(7)
    wins = (random.random((60, 1)) < 0.675 for _ in range(DRAWS))
    found = share("better", ((1.0 - won, won * 1.0) for won in wins))
    assert found == pytest.approx(difference_power(WORST_CASE, 60, 0.35), abs=NEAR)


def test_pilots_promise_on_average_what_is_true() -> None:
    """The power at the numbers of queries that pilots of forty name is the one that was asked for."""
    random = np.random.default_rng(4)
    truth = pilot_of(np.subtract(*solved(random, 5_000, 1, 0.2)[::-1]).tolist())
    pilots = [pilot_of(np.subtract(*solved(random, 40, 1, 0.2)[::-1]).tolist()) for _ in range(8)]
    numbers = [queries_for(pilot, 0.2) or 0 for pilot in pilots if is_promised(pilot, 1, 0.2)]
    assert len(numbers) > 5
    powers = [difference_power(truth, queries, 0.2, draws=300) for queries in numbers]
    assert np.mean(powers) == pytest.approx(0.8, abs=0.03 + 4 * np.std(powers) / len(powers) ** 0.5)


def test_equivalence_is_shown_as_often_as_promised() -> None:
    random = np.random.default_rng(3)
    pilot = pilot_of([[1.0]] * 100 + [[-1.0]] * 100 + [[0.0]] * 1_800)
    promised = equivalence_power(pilot, 200, 0.07)
    assert 0.5 < promised < 0.95
    drawn = (random.choice([-1.0, 0.0, 1.0], p=[0.05, 0.9, 0.05], size=(200, 1)) for _ in range(DRAWS))
    found = share("equivalent", ((np.maximum(-each, 0), np.maximum(each, 0)) for each in drawn), 0.07)
    assert found == pytest.approx(promised, abs=NEAR)


def test_a_plan_follows_from_a_pilot(write: Any) -> None:
    found = {query: {"sopr_score": query % 2, "total_tokens": 100} for query in range(1, 41)}
    other = {query: {"sopr_score": 1 if query % 4 else 0, "total_tokens": 300} for query in range(1, 41)}
    values = [str(write("reference", found)), str(write("langgraph", other))]
    sides, pairs = plan_sides(values, None, None)
    document = plan(sides, pairs, QueryPlanOptions(queries=(20, 200), difference=0.2))
    (pair,) = document.pilots
    assert (pair.baseline, pair.candidate, pair.queries) == ("reference", "langgraph", 40)
    assert pair.changed == 0.25
    assert pair.difference == pytest.approx(0.25)
    first, second = (found.difference or 0 for found in pair.smallest)
    assert first > second
    assert (pair.needed[0].queries or 0) < 100
    assert document.tokens_per_trial == {"reference": 100, "langgraph": 300}
    assert list(document.as_json()["pilots"][0])[:3] == ["baseline", "candidate", "queries"]
    turned = plan(*plan_sides(values, None, "langgraph"), QueryPlanOptions(queries=(20,)))
    assert turned.pilots[0].candidate == "reference"


def test_five_queries_that_all_differ_by_the_same_are_planned_in_ranges(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [
        str(write(name, {query: {"sopr_score": won} for query in range(5)})) for name, won in (("a", 0), ("b", 1))
    ]
    command.main(["--difference", "0.9", "--queries", "100", *values], standalone_mode=False)
    printed = capsys.readouterr().out
    assert "because every query differed by 1 in the pilot" in " ".join(printed.split())
    (row,) = [line for line in printed.splitlines() if line.split()[:1] == ["100"]]
    low, high = re.findall(r"[0-9.]+", row)[1:3]
    assert float(low) < 0.8 * float(high)
    options = QueryPlanOptions(queries=(100,), difference=0.9)
    (pair,) = plan(*plan_sides(values, None, None), options).pilots
    (needed,) = pair.needed
    assert (needed.queries_low or 0) <= (needed.queries or 0) <= (needed.queries_high or 0)


@pytest.mark.usefixtures("few_drawings")
def test_a_pilot_whose_repeats_agree_is_said_to_gain_nothing_by_repeats(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [{query: [{"sopr_score": (query % 3 > 0) * won}] * 2 for query in range(8)} for won in (0, 1)]
    values = [str(write(name, each, repeat=2)) for name, each in zip("ab", found, strict=True)]
    command.main(["--queries", "50", *values], standalone_mode=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith(
        "smallest difference of solved that is found with a chance of 80 %: b against a, by a pilot of 8 queries "
        "queries 1 repeat 3 repeats"
    )
    assert "No query's difference changed from one repeat of the pilot to the next, so repeats gain nothing." in printed


@pytest.mark.usefixtures("few_drawings")
def test_comparisons_that_need_the_same_are_said_together(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    solved = {"a": lambda query: 1, "b": lambda query: 1, "c": lambda query: 1, "d": lambda query: query % 2}
    found = {name: {query: [{"sopr_score": of(query)}] * 2 for query in range(8)} for name, of in solved.items()}
    values = [str(write(name, each, repeat=2)) for name, each in found.items()]
    command.main(["--queries", "50", *values], standalone_mode=False)
    printed = " ".join(capsys.readouterr().out.split())
    chance = "smallest difference of solved that is found with a chance of 80 %"
    assert printed.startswith(f"{chance}: b against a and c against a, by a pilot of 8 queries")
    assert f"{chance}: d against a, by a pilot" in printed
    assert printed.count(chance) == 2
    assert printed.count("With 1 or 3 repeats: ranges, because no query differed in the pilot") == 1


@pytest.mark.usefixtures("few_drawings")
def test_a_pilot_of_several_models_is_planned_as_a_run_of_it_compares(write: Any) -> None:
    """Frameworks under one model with each other, and models under the baseline."""
    labels = [f"{framework}@{model}" for framework in ("reference", "langgraph") for model in ("a", "b")]
    values = [str(write(label, {query: {"sopr_score": query % 2} for query in range(9)})) for label in labels]
    sides, pairs = plan_sides(values, None, None)
    assert [(baseline.name, candidate.name) for baseline, candidate in pairs] == [
        (pair.baseline.name, pair.candidate.name) for pair in run_pairs(sides, None)
    ]
    assert ("reference@b", "langgraph@b") in [(one.name, other.name) for one, other in pairs]
    planned = plan(sides, pairs, QueryPlanOptions(queries=(20,)))
    assert [(pair.baseline, pair.candidate) for pair in planned.pilots] == [(one.name, two.name) for one, two in pairs]


@pytest.mark.usefixtures("few_drawings")
def test_a_plan_says_what_a_run_costs_at_the_pilots_prices_or_at_others(write: Any) -> None:
    scores = {"total_tokens": 110, "prompt_tokens": 100, "completion_tokens": 10}
    found = {query: {"sopr_score": query % 2, "cost": 0.5, **scores} for query in range(1, 41)}
    other = {query: {"sopr_score": 1 if query % 4 else 0, "cost": 1.5, **scores} for query in range(1, 41)}
    sides, pairs = plan_sides([str(write("reference", found)), str(write("langgraph", other))], None, None)
    document = plan(sides, pairs, QueryPlanOptions(queries=(20,)))
    assert document.cost_per_trial == {"reference": 0.5, "langgraph": 1.5}
    assert document.cost(20, 3) == 120
    elsewhere = plan(sides, pairs, QueryPlanOptions(queries=(20,), prices={EVERY: read_prices("1,10")}))
    assert elsewhere.cost(1, 1) == pytest.approx(2 * (100 * 1 + 10 * 10) / 1e6)


@pytest.mark.usefixtures("few_drawings")
def test_each_model_of_a_plan_has_the_price_of_its_name(write: Any) -> None:
    scores = {"sopr_score": 1, "total_tokens": 110, "prompt_tokens": 100, "completion_tokens": 10}
    written = [write(f"reference@{name}", {1: scores, 2: scores}, model=name) for name in ("small", "large")]
    sides, pairs = plan_sides([str(path) for path in written], None, None)
    prices = {EVERY: read_prices("1,10"), "large": read_prices("2,20")}
    found = plan(sides, pairs, QueryPlanOptions(queries=(20,), prices=prices))
    assert found.cost_per_trial == pytest.approx({"reference@small": 2e-4, "reference@large": 4e-4})
    with pytest.raises(UsageError, match=r"the pilot has no model 'larg'; did you mean 'large'\? It has small, large"):
        plan(sides, pairs, QueryPlanOptions(prices={"larg": read_prices("1,1")}))


@pytest.mark.usefixtures("few_drawings")
def test_a_run_of_which_one_side_has_no_price_has_none(write: Any) -> None:
    found = {query: {"sopr_score": query % 2, "cost": 0.5} for query in range(1, 41)}
    other = {query: {"sopr_score": 1} for query in range(1, 41)}
    sides, pairs = plan_sides([str(write("reference", found)), str(write("langgraph", other))], None, None)
    assert plan(sides, pairs, QueryPlanOptions(queries=(20,))).cost(20, 1) is None


@pytest.mark.usefixtures("few_drawings")
def test_without_two_sides_the_worst_case_is_planned(write: Any) -> None:
    nothing = plan(*plan_sides((), None, None), QueryPlanOptions(queries=(20,)))
    assert nothing.pilots[0].changed == 1
    assert nothing.tokens_per_trial == {}
    one = plan(
        *plan_sides([str(write("reference", {1: {"sopr_score": 1, "total_tokens": 50}}))], None, None),
        QueryPlanOptions(queries=(20,)),
    )
    assert one.tokens_per_trial == {"reference": 50}
    assert one.pilots == nothing.pilots


@pytest.mark.usefixtures("few_drawings")
def test_a_pilot_that_says_nothing_is_refused(write: Any) -> None:
    values = [str(write(name, {1: {"sopr_score": 1}})) for name in ("a", "b")]
    sides, pairs = plan_sides(values, None, None)
    with pytest.raises(DataError, match="at least two"):
        plan(sides, pairs, QueryPlanOptions())
    with pytest.raises(DataError, match="no score of quality 'wall_time'; it has api_f1, sopr_score"):
        plan(sides, pairs, QueryPlanOptions(score="wall_time"))
    with pytest.raises(UsageError, match="--against"):
        plan_sides(values, None, "c")
    with pytest.raises(DataError, match="no score of quality 'wall_time'"):
        plan(sides[:1], None, QueryPlanOptions(score="wall_time"))
