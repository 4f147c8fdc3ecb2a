from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scoring import api_call, claim, context, scores, values

from trialbed.records import Score
from trialbed.scoring import ScoreContext
from trialbed_plugins.scorers import score_trial


@pytest.mark.parametrize(
    ("gold", "called", "recall", "precision", "f1"),
    [
        ("ab", "ab", 1, 1, 1),
        ("ab", "bbaa", 1, 1, 1),
        ("ab", "a", 0.5, 1, 2 / 3),
        ("ab", "abc", 1, 2 / 3, 0.8),
        ("ab", "c", 0, 0, 0),
        ("ab", "", 0, 0, 0),
        ("", "", 1, 1, 1),
        ("", "a", 0, 0, 0),
    ],
)
async def test_api_scores(gold: str, called: str, recall: float, precision: float, f1: float) -> None:
    found = await values(gold, [api_call(name) for name in called])
    assert found["api_call_score"] == pytest.approx(recall)
    assert found["api_precision"] == pytest.approx(precision)
    assert found["api_f1"] == pytest.approx(f1)


async def test_a_query_that_says_nothing_about_calls_has_none_of_their_scores() -> None:
    trial = context("", [api_call("a")])
    silent = dataclasses.replace(trial, query=trial.query.model_copy(update={"states_calls": False}))
    of_calls = {"api_call_score", "api_precision", "api_f1"}
    assert of_calls <= {score.name for score in await score_trial(trial)}
    assert not of_calls & {score.name for score in await score_trial(silent)}


async def test_api_scores_rest_on_the_wire_not_on_claims_and_count_failed_calls() -> None:
    found = await scores("ab", [api_call("a", error="bad")], calls=(claim("a"), claim("b")))
    assert found["api_call_score"].value == 0.5
    assert found["api_call_score"].detail == {"right": [["t", "a"]], "missing": [["t", "b"]], "extra": []}


@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
async def test_f1_is_the_harmonic_mean(gold: str, called: str) -> None:
    found = await values(gold, [api_call(name) for name in called])
    recall, precision, f1 = found["api_call_score"], found["api_precision"], found["api_f1"]
    assert recall is not None
    assert precision is not None
    expected = 2 * recall * precision / (recall + precision) if recall + precision else 0
    assert f1 == pytest.approx(expected)


async def test_calls_that_the_model_did_not_ask_for_score_nothing() -> None:
    calls = [api_call("a"), api_call("b")]
    found = await scores("ab", calls, unasked=calls[1:])
    assert found["api_call_score"].value == 0.5
    assert found["claimed_vs_observed"].detail["unasked"] == [["t", "b"]]


async def offer(trial: ScoreContext) -> Score:
    (score,) = [score for score in await score_trial(trial) if score.name == "gold_offered"]
    return score


async def test_the_offer_is_scored_by_the_gold_apis_among_the_tools() -> None:
    whole = context("ab")
    (first, *_) = whole.tools
    part = dataclasses.replace(whole, tools=(first,))
    none = dataclasses.replace(whole, tools=())
    found = [await offer(item) for item in (whole, part, none)]
    assert [score.value for score in found] == [1, 0.5, 0]
    assert found[1].detail == {"missing": [list(whole.query.gold_apis[1].pair)]}
    assert not found[1].quality
    assert "gold_offered" not in await scores("", [])
