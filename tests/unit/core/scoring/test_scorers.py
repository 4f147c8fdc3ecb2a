"""Scorers that are functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.scoring import api_call, context

from trialbed.plugins import empty_manager
from trialbed.records import Score, ScoreDescription
from trialbed.scoring import ScoreContext, scorer


def right(trial: ScoreContext) -> bool:
    """Whether the answer is 42.

    And no more.
    """
    return trial.text == "42"


async def test_a_function_is_a_scorer_under_its_name_with_what_its_docstring_says() -> None:
    made = scorer(right)
    assert made.scores == (ScoreDescription("right", meaning="Whether the answer is 42"),)
    assert made(context()) is True
    (score,) = await made.score_trial(context())
    assert (score.name, score.value, score.label, score.quality) == ("right", 1.0, "true", True)
    (described,) = made.describe_scores()
    assert (described.name, described.bounded) == ("right", True)


async def test_what_is_said_of_a_score_is_kept() -> None:
    @scorer(name="calls", unit="calls", meaning="how many", quality=False, lower_is_better=True)
    async def count(trial: ScoreContext) -> int:
        return len(trial.calls)

    (score,) = await count.score_trial(context(called=[api_call("a", {}), api_call("b", {})]))
    assert (score.name, score.value, score.bounded, score.quality) == ("calls", 2.0, False, False)
    (own,) = count.scores
    assert (own.unit, own.meaning, own.lower_is_better) == ("calls", "how many", True)


async def test_a_score_is_taken_as_it_is_and_none_is_no_score() -> None:
    own = Score(name="own", value=None)
    assert await scorer(lambda trial: own).score_trial(context()) == [own]
    assert await scorer(lambda trial: None).score_trial(context()) == []


async def test_a_function_may_give_several_scores() -> None:
    described = [ScoreDescription("one"), ScoreDescription("two", unit="s", bounded=False, missing="there is none")]

    @scorer(scores=described)
    def both(trial: ScoreContext) -> Iterator[Score]:
        yield Score(name="one", value=1.0)
        yield Score(name="two", value=float(len(trial.calls)), bounded=False)

    assert [score.name for score in await both.score_trial(context())] == ["one", "two"]
    assert both.describe_scores() == described


@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        ("high", TypeError, "returned 'high'; a scorer returns a number"),
        (float("nan"), TypeError, "returned nan"),
        (1.5, ValueError, r"returned 1\.5, which is not from 0 to 1; say so with @scorer\(bounded=False\)"),
    ],
)
async def test_what_is_no_score_is_said(value: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        await scorer(name="odd")(lambda trial: value).score_trial(context())


def test_a_scorer_is_a_plugin() -> None:
    manager = empty_manager()
    manager.register(scorer(right), "right")
    manager.check_pending()
    assert [[score.name for score in described] for described in manager.hook.describe_scores()] == [["right"]]
