"""The scores that lead the pages of a run, and its figures in lists of runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from trialbed.report.comparison import leading_scores
from trialbed.statistics import Interval
from trialbed.store import StoredRun

HEADLINE = ("sopr_score", "api_call_score")


def headline_candidates(run: StoredRun) -> tuple[str, ...]:
    """Return the scores that may lead the pages of a run: the measures of datasets come first."""
    return tuple(dict.fromkeys([*leading_scores(run.record.scores), *HEADLINE]))


def headline_of(run: StoredRun, known: Collection[str]) -> tuple[str, ...]:
    """Return the scores that lead the pages of a run: its dataset's own measure, if it has one, comes first.

    Args:
        known: the scores that the run has. The measures of other datasets are described in it too.
    """
    return tuple(name for name in headline_candidates(run) if name in HEADLINE or name in known)


@dataclass(frozen=True)
class FigureMean:
    """A mean over trials, its 95 % interval where the score is bounded, and the number of values."""

    value: float | None
    interval: Interval | None
    n: int


@dataclass(frozen=True)
class Headline:
    """The figures of a run in the list of runs.

    Attributes:
        means: of the first score for each framework, best first.
    """

    answered: int
    failed: int
    score: str
    means: Sequence[tuple[str, FigureMean]]
