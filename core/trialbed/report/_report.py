"""The report of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from trialbed.errors import UsageError
from trialbed.records import GoldAnswer, Query, Run, ScoreDescription, TrialResult, meant_labels
from trialbed.report._packed import finder
from trialbed.report._records import KeptFigures, Summary
from trialbed.report._thresholds import check_thresholds, check_values
from trialbed.report._trials import QueryId
from trialbed.report.comparison import (
    FactorEffects,
    ScoreFinding,
    complete_sides,
    factor_effects,
    leading_scores,
    regressions,
)
from trialbed.scoring import JUDGED
from trialbed.settings import MARGIN


@dataclass(frozen=True)
class Report:
    """The report of a run.

    Attributes:
        run: its settings and its state.
        frameworks: a summary of each, in the run's order.
        queries: the tasks by id.
        described: the scores that plugins describe, by name.
        gold: what expected calls were answered, where the run made them itself.
        absent: the scores that trials of a query cannot have.
        whole: gives every attempt with its wire log, a part at a time where they are stored.
        kept: figures that need not be reckoned from the trials, as the store has them.
    """

    run: Run
    frameworks: tuple[Summary, ...]
    queries: Mapping[QueryId, Query] = field(repr=False)
    described: Mapping[str, ScoreDescription] = field(repr=False)
    gold: Mapping[QueryId, GoldAnswer] = field(repr=False)
    whole: Callable[[], Iterator[TrialResult]] = field(repr=False, compare=False)
    absent: Mapping[QueryId, Collection[str]] = field(default_factory=dict, repr=False)
    kept: KeptFigures | None = field(default=None, repr=False, compare=False)

    def __getitem__(self, framework: str) -> Summary:
        """The summary of a framework, by its label in the run or by its name where that is unique."""
        labels = [summary.framework for summary in self.frameworks]
        meant = meant_labels(framework, labels) if isinstance(framework, str) else []
        if len(meant) != 1:
            raise KeyError(f"{framework!r} is not one framework of the report: {', '.join(labels)}")
        return self.frameworks[labels.index(meant[0])]

    @property
    def incomplete(self) -> bool:
        """True where the run has ended without all of its trials measured."""
        return self.run.status == "incomplete"

    @property
    def factors(self) -> FactorEffects | None:
        """The effects of models, temperatures, numbers of tools and frameworks on the measure that leads.

        None where only the frameworks differ, or where trials are missing and that is not accepted.
        """
        if self.kept is not None:
            return self.kept.factors
        if self.incomplete and not all(summary.common for summary in self.frameworks):
            return None
        sides = {summary.framework: summary.side for summary in self.frameworks if not summary.integrity.void}
        known = {score for side in sides.values() for score in side.scores}
        leading = next((name for name in leading_scores(self.described) if name in known), JUDGED)
        compared: dict[tuple[str, ...], ScoreFinding] = {
            (one.against, summary.framework): one.scores[leading]
            for summary in self.frameworks
            for one in summary.comparisons
            if leading in one.scores
        }
        return factor_effects(self.run.config, sides, leading, self.run.margin, compared)

    @property
    def last_end(self) -> datetime | None:
        """The time at which its last trial ended; None without one."""
        ends = [summary.last_end for summary in self.frameworks if summary.last_end is not None]
        return max(ends, default=None)

    def trials(self, framework: str | None = None) -> Iterator[TrialResult]:
        """The trials that count as a whole, wire logs included, of one framework or of all.

        Those of a stored run are read from the store, a part at a time.
        """
        find = {
            summary.framework: finder(summary.trials)
            for summary in self.frameworks
            if framework in (None, summary.framework)
        }
        return (
            result
            for result in self.whole()
            if result.key.framework in find and find[result.key.framework](result.key, result.attempt) is not None
        )

    def below(self, thresholds: Mapping[str, float] | None = None, /, **more: float) -> list[str]:
        """Return a line for each framework whose mean of a score is below its threshold, as ``--fail-under`` does.

        ``assert not report.below(sopr_score=0.8)`` fails with these lines. Where trials of the run were not measured,
        whose results could change the means, there is a line that says so: nothing is decided then.

        Args:
            thresholds: by score, for names that are no keywords, such as ``pass^3``.

        Raises:
            UsageError: there is no such score; lists those that exist. A threshold is not a number, or not from 0
                to 1 for a share.
        """
        asked = {**(thresholds or {}), **more}
        check_values(asked, self.described)
        checks = check_thresholds(self.frameworks, asked)
        return [*(f"{check.framework}: {check.problem}" for check in checks if check.problem), *self._missing_trials()]

    def worse_than(
        self, baseline: str | os.PathLike[str], *, store: str | None = None, margin: float = MARGIN
    ) -> list[str]:
        """Return a line for each framework and score that is worse than in another run, as ``--fail-on-regression``.

        Where trials of this run were not measured, there is a line that says so, as for ``below``.

        Args:
            baseline: the id of a run in the store, or the path of a result document.
            store: where runs are kept; None for the usual place.
            margin: the largest difference of a score that does not matter.

        Raises:
            UsageError, DataError: it is not a run that has all of its trials, or cannot be compared.
        """
        if not isinstance(baseline, (str, os.PathLike)):
            raise UsageError(
                f"worse_than: {baseline!r:.60} is neither the id of a run nor the path of a result document; "
                "of another report, give report.run.run_id"
            )
        own = [summary.side for summary in self.frameworks]
        return [*regressions(complete_sides(os.fspath(baseline), store), own, margin), *self._missing_trials()]

    def _missing_trials(self) -> Iterator[str]:
        """Yield that nothing is decided by the means of a run that lacks trials."""
        if self.incomplete:
            missing = sum(summary.counts.not_measured for summary in self.frameworks)
            trials = "1 trial was" if missing == 1 else f"{missing:,} trials were"
            yield f"the run is incomplete, so that nothing is decided: {trials} not measured"

    def __str__(self) -> str:
        """The table of the run."""
        return _reporter_text(self, "table")

    def _repr_html_(self) -> str:
        """The table and plots, as a notebook shows them."""
        return _reporter_text(self, "html")


def _reporter_text(report: Report, name: str) -> str:
    from io import StringIO
    from typing import cast

    from trialbed.contracts import Reporter
    from trialbed.drivers import load_driver

    stream = StringIO()
    cast("Reporter", load_driver("reporters", name)()).report(report, stream)
    return stream.getvalue()
