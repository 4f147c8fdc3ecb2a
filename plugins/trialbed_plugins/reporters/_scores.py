"""The scores in a run's tables, and their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trialbed.records import ScoreDescription, leading_scores
from trialbed.report import Report, Summary

SKEWED = ("ns", "us", "µs", "ms", "s", "min", "h", "tokens", "USD")
"""Units of skewed figures. Their median says more than their mean."""


def score_names(summaries: Sequence[Summary], described: Mapping[str, ScoreDescription]) -> list[str]:
    """Return every score of any framework, the dataset's own first, then bounded ones as far as this is known."""
    given = [name for summary in summaries for name in summary.shown]
    names = dict.fromkeys([*(name for name in leading_scores(described) if name in given), *given])
    known = [score for summary in summaries for score in summary.shown.items()]
    with_median = {name for name, score in known if score.median is not None}
    return sorted(names, key=lambda name: name in with_median)


def telling_names(report: Report) -> list[str]:
    """Return all scores except explanatory ones without a value other than their ideal."""
    ideal = {name: score.ideal for name, score in report.described.items() if score.ideal is not None}
    values = {(name, score.value) for summary in report.frameworks for name, score in summary.shown.items()}
    told = {name for name, value in values if name not in ideal or value not in (None, ideal[name])}
    return [name for name in score_names(report.frameworks, report.described) if name in told]
