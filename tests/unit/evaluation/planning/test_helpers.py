"""Helpers in a plan: judges per trial, selectors and simulators per query."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trialbed.errors import UsageError
from trialbed.prices import read_prices
from trialbed.records import HelperUse, Usage
from trialbed.report.comparison import HelperTotals, Side, run_pairs
from trialbed_evaluation.planning import EVERY, QueryPlan, QueryPlanOptions, plan, plan_sides
from trialbed_evaluation.planning.command import print_plan

TRIALS, QUERIES = 80, 40

pytestmark = pytest.mark.usefixtures("few_drawings")


def used(role: Any, model: str, *, requests: int = 80, cached: int = 0, cost: float | None = None) -> HelperUse:
    usage = Usage(prompt_tokens=90 * requests, completion_tokens=10 * requests)
    return HelperUse(role=role, model=model, requests=requests, cached=cached, usage=usage, cost=cost)


@pytest.fixture
def sides(write: Any) -> list[Side]:
    """Return the sides of a pilot of two frameworks and 40 queries."""
    scores = {"total_tokens": 50, "prompt_tokens": 40, "completion_tokens": 10}
    named = [write(name, {query: {"sopr_score": query % 2, **scores} for query in range(QUERIES)}) for name in "ab"]
    return plan_sides([str(path) for path in named], None, None)[0]


def planned(sides: list[Side], *uses: HelperUse, **options: Any) -> QueryPlan:
    totals = HelperTotals(uses, TRIALS, QUERIES)
    own = [replace(side, about=replace(side.about, helpers=totals)) for side in sides]
    pairs = [(pair.baseline, pair.candidate) for pair in run_pairs(own, None)]
    return plan(own, pairs, QueryPlanOptions(queries=(20,), **options))


def test_a_judge_is_asked_for_each_trial_and_others_for_each_query(sides: list[Side]) -> None:
    found = planned(sides, used("judge", "grader"), used("selector", "chooser", requests=40))
    judge, selector = found.helpers
    assert (judge.per, judge.tokens, judge.columns) == ("trial", 100, 2)
    assert (selector.per, selector.tokens) == ("query", 100)
    assert found.tokens(20, 3) == 20 * 3 * (2 * 50 + 2 * 100) + 20 * 100


def test_embeddings_of_the_catalog_are_made_once_for_any_number_of_queries(sides: list[Side]) -> None:
    embedded = [
        replace(side, about=replace(side.about, settings={**side.about.settings, "embedding_model": "embedder"}))
        for side in sides
    ]
    found = planned(embedded, used("selector", "embedder", requests=40, cost=3.0), used("selector", "chooser"))
    embedder, chooser = found.helpers
    assert (embedder.per, embedder.tokens, embedder.cost, chooser.per) == ("run", 4000, 3.0, "query")
    assert found.tokens(20, 3) == 20 * 3 * 2 * 50 + 20 * 200 + 4000
    assert found.cost(20, 3) == 3.0


def test_replies_that_were_kept_are_asked_for_in_a_new_run(sides: list[Side]) -> None:
    (judge,) = planned(sides, used("judge", "grader", requests=40, cached=40)).helpers
    assert judge.tokens == 100
    (unknown,) = planned(sides, used("judge", "grader", requests=0, cached=80)).helpers
    assert (unknown.tokens, unknown.cost) == (None, None)


def test_helpers_cost_what_they_did_or_at_the_price_that_is_given(sides: list[Side]) -> None:
    judge = used("judge", "grader", cost=8.0)
    assert planned(sides, judge).cost(10, 1) == 10 * 2 * 0.1, "the models' prices are not known"
    prices = {EVERY: read_prices("1,1"), "grader": read_prices("10,100")}
    found = planned(sides, judge, prices=prices)
    assert found.cost(10, 1) == pytest.approx(10 * 2 * (50 + 90 * 10 + 10 * 100) / 1e6)
    with pytest.raises(UsageError, match="the pilot has no model 'other'"):
        planned(sides, judge, prices={"other": read_prices("1,1")})


def test_costs_of_helpers_alone_are_said_to_be_that(sides: list[Side], capsys: pytest.CaptureFixture[str]) -> None:
    judge, left_out = used("judge", "grader", cost=8.0), "USD: without the models of a, b, whose prices are not known"
    print_plan(planned(sides, judge))
    assert left_out in capsys.readouterr().out
    print_plan(planned(sides, judge, prices={EVERY: read_prices("1,1")}))
    assert left_out not in capsys.readouterr().out


def test_a_plan_without_known_costs_has_none(sides: list[Side]) -> None:
    found = planned(sides, used("judge", "grader"))
    assert (found.cost(10, 1), found.tokens(10, 1)) == (None, 10 * 2 * 150)


def test_a_document_names_its_helpers_and_not_their_share(write: Any) -> None:
    helper = {
        "role": "judge",
        "model": "grader",
        "requests": 9,
        "cached": 0,
        "prompt_tokens": 1,
        "completion_tokens": 1,
    }
    path = write("a", {1: {"sopr_score": 1}}, helpers=[helper, {"role": "cook", "model": "x"}])
    found = plan(*plan_sides([str(path)], None, None), QueryPlanOptions(queries=(20,)))
    assert [(one.model, one.tokens) for one in found.helpers] == [("grader", None)]
