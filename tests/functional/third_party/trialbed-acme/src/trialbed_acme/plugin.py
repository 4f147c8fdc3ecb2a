"""Scores: the hooks that Acme listens to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trialbed import Score, ScoreContext, ScoreDescription, TrialResult, hookimpl


@hookimpl
def score_trial(context: ScoreContext) -> Iterable[Score]:
    """``acme_begins_right``: whether the first call made is the first gold call; ``acme_boot_time``: when it was."""
    called = context.called_apis
    value = 1.0 if called[:1] == context.query.gold_apis[:1] else 0.0
    first = min((call.started for call in context.wire.api_calls), default=0.0)
    return [
        Score(name="acme_begins_right", value=value, label="right" if value else "wrong"),
        Score(name="acme_boot_time", value=1000 * first, bounded=False),
    ]


@hookimpl
def describe_scores() -> Iterable[ScoreDescription]:
    """Acme's scores, with their meanings and units."""
    return [
        ScoreDescription("acme_begins_right", meaning="the first call was the first gold call"),
        ScoreDescription("acme_boot_time", unit="ms", meaning="until the first call reached an Api", bounded=False),
    ]


@hookimpl
def aggregate_scores(results: Sequence[TrialResult]) -> Mapping[str, Any]:
    """``acme_api_calls``: how many calls there were over all trials."""
    return {"acme_api_calls": sum(len(result.wire.api_calls) for result in results)}
