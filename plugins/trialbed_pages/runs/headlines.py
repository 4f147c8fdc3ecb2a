"""The scores that lead the pages of a run, and its figures in lists of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trialbed.plugins import installed_listeners
from trialbed.report import ScoreMean
from trialbed.report.comparison import leading_scores
from trialbed.report.kept import headlines
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


NO_VALUE = ScoreMean(None, None, 0)
"""The mean of a score that no trial has."""


@dataclass(frozen=True)
class Headline:
    """The figures of a run in the list of runs.

    Attributes:
        means: of the first score for each framework, best first.
    """

    answered: int
    failed: int
    score: str
    means: Sequence[tuple[str, ScoreMean]]

    @classmethod
    def of(cls, ends: Mapping[Any, int], score: str, means: Iterable[tuple[str, ScoreMean]]) -> Headline:
        """Return the figures of a run with its frameworks in order.

        Args:
            ends: how many trials were answered, and failed.
        """
        ordered = sorted(means, key=lambda item: 1.0 if item[1].value is None else -item[1].value)
        return cls(ends["answered"], ends["failed"], score, ordered)


def kept_headline(run: StoredRun) -> Headline | None:
    """Return the figures of a run in the list of runs, as its store keeps them; None where it keeps none."""
    kept = headlines(run, installed_listeners())
    if kept is None:
        return None
    score = headline_of(run, {name for one in kept.values() for name in one.scores})[0]
    ends = Counter[str]()
    for one in kept.values():
        ends.update(answered=one.counts.answered, failed=one.counts.failed)
    return Headline.of(ends, score, [(name, own.scores.get(score, NO_VALUE)) for name, own in kept.items()])
