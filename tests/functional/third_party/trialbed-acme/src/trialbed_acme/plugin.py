"""Scores: the hooks that Acme listens to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trialbed import Score, ScoreContext, TrialResult, hookimpl


@hookimpl
def score_trial(context: ScoreContext) -> Iterable[Score]:
    """``acme_begins_right``: whether the first call that was made is the first gold call."""
    called = context.called_apis
    value = 1.0 if called[:1] == context.query.gold_apis[:1] else 0.0
    return [Score(name="acme_begins_right", value=value, label="right" if value else "wrong")]


@hookimpl
def aggregate_scores(results: Sequence[TrialResult]) -> Mapping[str, Any]:
    """``acme_api_calls``: how many calls there were over all trials."""
    return {"acme_api_calls": sum(len(result.wire.api_calls) for result in results)}
