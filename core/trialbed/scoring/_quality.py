"""Scores of quality: those that say how good an answer is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from trialbed.records import Score, TrialStatus

ALWAYS = ("sopr_score", "api_call_score", "api_precision", "api_f1", "has_finish")
"""Scores of quality that a summary has even where no trial ended without failure."""


class TrialScores(Protocol):
    """A trial with its scores, as a result, a store or a report has it."""

    @property
    def status(self) -> TrialStatus:
        """The way in which it ended."""

    @property
    def scores(self) -> tuple[Score, ...]:
        """Its scores."""


def quality_scores(trials: Iterable[TrialScores]) -> tuple[str, ...]:
    """Return the scores that say how good an answer is: 0 for each trial that failed."""
    given = [score for trial in trials if trial.status == "answered" for score in trial.scores]
    other = {score.name for score in given if not (score.bounded and score.quality)}
    return tuple(dict.fromkeys([*ALWAYS, *(score.name for score in given if score.name not in other)]))
