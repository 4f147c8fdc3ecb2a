"""Scores of the answer: whether there is one, and the judge's verdict."""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.records import Score
from trialbed.scoring import ScoreContext, judged_score


def score_finish(context: ScoreContext) -> Iterable[Score]:
    """``has_finish``: 1 if the agent ended by itself, with an answer or by giving up (the label says which), else 0."""
    finish = context.answer.finish
    yield Score(name="has_finish", value=0.0 if finish is None else 1.0, label=finish)


async def score_answer(context: ScoreContext) -> Score:
    """``sopr_score``: the run's judge on the answer; the label is the answer's status."""
    return await judged_score(context)
