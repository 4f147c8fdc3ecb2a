"""Scores of every trial; each place to change is marked REPLACE."""

from __future__ import annotations

from collections.abc import Sequence

from trialbed import Score, ScoreContext, ScoreDescription, hookimpl

NAME = "trialbed_new_plugin_words"


@hookimpl
def score_trial(context: ScoreContext) -> Sequence[Score]:
    """Score one trial without failure."""
    # REPLACE: the words of the answer are counted.
    return [Score(name=NAME, value=float(len(context.text.split())), bounded=False)]


@hookimpl
def describe_scores() -> Sequence[ScoreDescription]:
    """Describe the score, so that tables explain it and a misspelt --fail-under is found before a run."""
    return [ScoreDescription(NAME, unit="words", meaning="words of the answer", bounded=False)]
