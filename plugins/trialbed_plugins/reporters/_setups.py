"""The figures of a run that can stand below each other, a row for each set-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trialbed.records import SETTINGS, ScoreDescription, label_settings, leading_scores
from trialbed.report import Report, ScoreSummary, Summary

SKEWED = ("ns", "us", "µs", "ms", "s", "min", "h", "tokens", "USD")
"""Units of figures a few of which are far larger than the others, so that their median says more than their mean."""


@dataclass(frozen=True)
class ShownSetup:
    """A framework as a run sets it up, with the scores that are shown of it.

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

    @property
    def model(self) -> str:
        """The model of its trials."""
        return self.summary.run.config.of(self.name).model

    @property
    def name_beside_model(self) -> str:
        """The label without the model, for a table that says the model above it."""
        plain, own = self.summary.run.config.plain_label(self.name), label_settings(self.name)
        rest = own.removeprefix(self.model).strip(",")
        return f"{plain}{SETTINGS}{rest}" if rest else plain

    def value(self, score: str) -> float | None:
        """The mean of a score, if it has one."""
        found = self.scores.get(score)
        return None if found is None else found.value


def comparable(report: Report) -> list[ShownSetup]:
    """The set-ups of a report.

    Where trials of one of several frameworks are missing, their figures are over different queries: then those over
    common trials take their place, if the run was allowed to be incomplete, and otherwise nothing does.
    """
    whole = len(report.frameworks) == 1 or not report.incomplete
    setups = []
    for summary in report.frameworks:
        scores = summary.scores if whole else summary.common.scores if summary.common else {}
        # Of a row that is void, none is shown.
        setups.append(ShownSetup(summary, {} if summary.integrity.void else scores, report.described, whole=whole))
    return setups


def score_names(setups: Sequence[ShownSetup]) -> list[str]:
    """Every score of any framework: the dataset's own first, then bounded ones, as far as that is known."""
    leading = leading_scores(setups[0].described) if setups else ()
    given = [name for setup in setups for name in setup.scores]
    names = dict.fromkeys([*(name for name in leading if name in given), *given])
    return sorted(names, key=lambda name: any(_has_median(name, setup) for setup in setups))


def telling_names(setups: Sequence[ShownSetup]) -> list[str]:
    """Every score but those that explain others and have nothing to say of any framework."""
    ideal = {name: score.ideal for name, score in setups[0].described.items() if score.ideal is not None}
    return [
        name
        for name in score_names(setups)
        if name not in ideal or any(setup.value(name) not in (None, ideal[name]) for setup in setups)
    ]


def _has_median(name: str, setup: ShownSetup) -> bool:
    found = setup.scores.get(name)
    return found is not None and found.median is not None
