"""The plugin that gives every trial its scores."""

from __future__ import annotations

from trialbed.hook_markers import hookimpl
from trialbed.records import Score, ScoreDescription
from trialbed.scoring import ScoreContext
from trialbed_plugins.scorers._answers import (
    claimed_vs_observed,
    fault_scores,
    final_state,
    has_finish,
    sopr_score,
    used_results,
)
from trialbed_plugins.scorers._calls import api_scores, argument_scores, call_scores, gold_offered
from trialbed_plugins.scorers._conversations import conversation_scores
from trialbed_plugins.scorers._costs import cost_score, model_turns, time_scores, token_scores

SCORERS = (
    sopr_score,
    api_scores,
    gold_offered,
    argument_scores,
    call_scores,
    used_results,
    final_state,
    fault_scores,
    conversation_scores,
    has_finish,
    claimed_vs_observed,
    token_scores,
    cost_score,
    model_turns,
    time_scores,
)

CATALOG = tuple(score for scorer in SCORERS for score in scorer.scores)
"""The built-in scores, in the order of documents and tables. ``docs/reference/scores.md`` describes each."""


@hookimpl
def describe_scores() -> tuple[ScoreDescription, ...]:
    return CATALOG


@hookimpl
async def score_trial(context: ScoreContext) -> list[Score]:
    return [score for scorer in SCORERS for score in await scorer.scores_of(scorer.code(context))]
