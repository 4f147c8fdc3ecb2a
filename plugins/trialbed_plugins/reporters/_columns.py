"""The figures of a run that can stand side by side, a column for each framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from trialbed.records import ScoreDescription
from trialbed.report import Figures, Report, ScoreSummary, Summary
from trialbed.report.comparison import leading_scores

SKEWED = ("ns", "us", "µs", "ms", "s", "min", "h", "tokens", "USD")
"""Units of figures a few of which are far larger than the others, so that their median says more than their mean."""


@dataclass(frozen=True)
class Column:
    """A framework of a run, with the scores that are shown of it.

    Attributes:
        described: the descriptions of all scores that plugins give.
        whole: whether they are over all of its trials, and not over those that every framework has.
    """

    summary: Summary
    scores: Mapping[str, ScoreSummary]
    described: Mapping[str, ScoreDescription]
    whole: bool = True

    @property
    def name(self) -> str:
        """The framework's label."""
        return self.summary.framework

    def value(self, score: str) -> float | None:
        """The mean of a score, if it has one."""
        found = self.scores.get(score)
        return None if found is None else found.value


def comparable(report: Report) -> list[Column]:
    """The columns of a report.

    Where trials of one of several frameworks are missing, their figures are over different queries: then those over
    common trials take their place, if the run was allowed to be incomplete, and otherwise nothing does.
    """
    whole = len(report.frameworks) == 1 or not report.incomplete
    return [
        Column(summary, _table_scores(summary, whole=whole), report.described, whole=whole)
        for summary in report.frameworks
    ]


def _table_scores(summary: Summary, *, whole: bool) -> Mapping[str, ScoreSummary]:
    """Return the scores that are shown of a framework; none of a row that is void."""
    if summary.integrity.void:
        return {}
    return summary.scores if whole else _over_common(summary, summary.common)


def _over_common(summary: Summary, common: Figures | None) -> dict[str, ScoreSummary]:
    return {
        name: replace(
            summary.scores[name],
            value=mean.value,
            interval=mean.interval,
            denominator=mean.denominator,
            median=mean.median,
            quartiles=mean.quartiles,
        )
        for name, mean in (common.scores if common else {}).items()
    }


def score_names(columns: Sequence[Column]) -> list[str]:
    """Every score of any framework: the dataset's own first, then bounded ones, as far as that is known."""
    leading = leading_scores(columns[0].described) if columns else ()
    given = [name for column in columns for name in column.scores]
    names = dict.fromkeys([*(name for name in leading if name in given), *given])
    return sorted(names, key=lambda name: any(_has_median(name, column) for column in columns))


def telling_names(columns: Sequence[Column]) -> list[str]:
    """Every score but those that explain others and have nothing to say of any framework."""
    ideal = {name: score.ideal for name, score in columns[0].described.items() if score.ideal is not None}
    return [
        name
        for name in score_names(columns)
        if name not in ideal or any(column.value(name) not in (None, ideal[name]) for column in columns)
    ]


def _has_median(name: str, column: Column) -> bool:
    found = column.scores.get(name)
    return found is not None and found.median is not None
