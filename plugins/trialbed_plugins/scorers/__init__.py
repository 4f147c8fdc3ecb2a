"""The scores that Trialbed gives every trial; one plugin, one small scorer per module."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trialbed.hookspecs import hookimpl
from trialbed.records import Score
from trialbed.scoring import ScoreContext
from trialbed_plugins.scorers._api_calls import score_api_calls
from trialbed_plugins.scorers._claims import score_claims
from trialbed_plugins.scorers._finish import score_finish
from trialbed_plugins.scorers._sopr import score_answer
from trialbed_plugins.scorers._time import score_time
from trialbed_plugins.scorers._tokens import score_tokens
from trialbed_plugins.scorers._turns import score_turns

__all__ = ["score_trial"]

_SCORERS: tuple[Callable[[ScoreContext], Iterable[Score]], ...] = (
    score_api_calls,
    score_finish,
    score_claims,
    score_tokens,
    score_turns,
    score_time,
)


@hookimpl
async def score_trial(context: ScoreContext) -> list[Score]:
    """The built-in scores of one trial."""
    scores = [await score_answer(context)]
    for scorer in _SCORERS:
        scores.extend(scorer(context))
    return scores
