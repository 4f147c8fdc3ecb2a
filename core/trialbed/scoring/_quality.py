"""Scores of quality: those that say how good an answer is."""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.records import TrialResult

ALWAYS = ("sopr_score", "api_call_score", "api_precision", "api_f1", "has_finish")
"""Scores of quality that a summary has even where no trial ended with an answer."""


def quality_scores(results: Iterable[TrialResult]) -> tuple[str, ...]:
    """The scores that say how good an answer is: 0 for each trial that failed."""
    given = [score for result in results if result.status == "answered" for score in result.scores]
    other = {score.name for score in given if not (score.bounded and score.quality)}
    return tuple(dict.fromkeys([*ALWAYS, *(score.name for score in given if score.name not in other)]))
