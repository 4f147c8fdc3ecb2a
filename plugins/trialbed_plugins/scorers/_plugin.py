"""The plugin that gives every trial its scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trialbed.hookspecs import hookimpl
from trialbed.records import Score, ScoreDescription
from trialbed.scoring import ScoreContext
from trialbed_plugins.scorers._answers import score_answer, score_finish
from trialbed_plugins.scorers._apis import score_api_calls, score_offer
from trialbed_plugins.scorers._arguments import score_arguments
from trialbed_plugins.scorers._calls import score_calls
from trialbed_plugins.scorers._catalog import CATALOG
from trialbed_plugins.scorers._claims import score_claims
from trialbed_plugins.scorers._costs import score_time, score_tokens, score_turns
from trialbed_plugins.scorers._faults import score_faults
from trialbed_plugins.scorers._results import score_results
from trialbed_plugins.scorers._state import score_state

SCORES = tuple(score.name for score in CATALOG)
"""Every score that a trial may get."""

_SCORERS: tuple[Callable[[ScoreContext], Iterable[Score]], ...] = (
    score_api_calls,
    score_offer,
    score_arguments,
    score_calls,
    score_results,
    score_state,
    score_faults,
    score_finish,
    score_claims,
    score_tokens,
    score_turns,
    score_time,
)


@hookimpl
def describe_scores() -> tuple[ScoreDescription, ...]:
    """Return the descriptions of the built-in scores."""
    return CATALOG


@hookimpl
async def score_trial(context: ScoreContext) -> list[Score]:
    """The built-in scores of one trial."""
    scores = [await score_answer(context)]
    for scorer in _SCORERS:
        scores.extend(scorer(context))
    return scores
