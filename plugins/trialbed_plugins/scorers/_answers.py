"""Scores of the answer: whether there is one, and the judge's verdict."""

from __future__ import annotations

from trialbed.records import Score
from trialbed.scoring import ScoreContext, judged_score, scorer


@scorer(meaning="tasks solved, as the judge finds (unsure counts half)", missing="the judge failed")
async def sopr_score(context: ScoreContext) -> Score:
    """Return the verdict of the run's judge on the answer; the label is the answer's status."""
    return await judged_score(context)


@scorer(meaning="the agent ended by itself")
def has_finish(context: ScoreContext) -> Score:
    """Return 1 if the agent ended by itself, with an answer or by giving up (the label says which), else 0."""
    finish = context.answer.finish
    return Score(name="has_finish", value=0.0 if finish is None else 1.0, label=finish)
