"""Scorers and judges that are functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.scoring import api_call, context

from trialbed.contracts import Verdict
from trialbed.errors import JudgeError, UsageError
from trialbed.records import Score, ScoreDescription
from trialbed.scoring import FunctionJudge, ScoreContext, as_judge, scorer


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


VERDICT = Verdict(status="Unsure", value=0.4, reason="?", votes=("Unsure",))


@pytest.mark.parametrize(
    ("found", "status", "value"),
    [
        (True, "Solved", 1.0),
        (False, "Unsolved", 0.0),
        (0.25, "Unsure", 0.25),
        (1, "Solved", 1.0),
        ("Unsure", "Unsure", 0.5),
        (VERDICT, "Unsure", 0.4),
    ],
)
async def test_what_a_function_finds_is_a_verdict(found: Any, status: str, value: float) -> None:
    def judge(query: Any, answer: Any, wire: Any) -> Any:
        assert (query.text, answer.final_answer, wire.trial) == ("?", "42", "t")
        return found

    async def later(query: Any, answer: Any, wire: Any) -> Any:
        return found

    trial = context()
    for function in (judge, later):
        verdict = await as_judge(function).judge(trial.query, trial.answer, trial.wire)
        assert (verdict.status, verdict.value) == (status, value)


@pytest.mark.parametrize("found", [None, "good", 2, -0.5, float("nan")])
async def test_what_is_no_verdict_is_said(found: Any) -> None:
    trial = context()
    with pytest.raises(JudgeError, match="a judge returns a bool, a number from 0 to 1, or a Verdict"):
        await FunctionJudge(lambda query, answer, wire: found).judge(trial.query, trial.answer, trial.wire)


def test_what_is_no_judge_is_said() -> None:
    for given in (3, FunctionJudge):
        with pytest.raises(UsageError, match="is not a judge; give a name, a Judge, or a function"):
            as_judge(given)  # type: ignore[arg-type]
