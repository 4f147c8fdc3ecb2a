"""The figures of a run, read from columns, so that pages of large runs are fast."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from trialbed.plugins import installed_listeners
from trialbed.records import Query
from trialbed.report import (
    FactorEffects,
    Integrity,
    Report,
    ScoreMean,
    ScoreSummary,
    ScoreValues,
    Summary,
    Tokens,
    conclusions,
    framework_integrity,
    how_to_complete,
    join_alike,
    reason_lines,
    worst_queries,
)
from trialbed.report.comparison import TrialTable
from trialbed.report.kept import FrameworkHeadline, headlines, stored_report
from trialbed.scoring import ALWAYS, JUDGED, TIMES, absent_scores
from trialbed.store import ColumnTable, StoredRun, TrialColumns
from trialbed.views import compact, helper_line
from trialbed_pages.runs.counted import CountedTrials
from trialbed_pages.runs.headlines import NO_VALUE, headline_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

QueryId = int | str

T = TypeVar("T")

INLINE = 1_000
"""Trials up to which a page has the slower parts of a run at once; of larger runs they follow."""

TOKENS = "total_tokens"
COST = "cost"


@dataclass(frozen=True)
class RunFigures:
    """A run with the columns of its trials.

    Attributes:
        queries: the tasks, None where the dataset is out of reach or has changed.
    """

    run: StoredRun
    columns: ColumnTable
    queries: Mapping[QueryId, Query] | None
    _known: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def trials(self) -> CountedTrials:
        """The trials as arrays."""
        absent = None if self.queries is None else absent_scores(self.queries.values())
        return CountedTrials(self.columns, self.run.config.frameworks, self.run.status, self._quality, absent)

    @property
    def quality(self) -> list[str]:
        """The scores that lie in [0, 1], those of quality first."""
        kinds = self.columns.kinds
        return sorted((name for name in kinds if kinds[name].bounded), key=lambda name: not kinds[name].quality)

    @property
    def trials_per_framework(self) -> int:
        """The trials that the run has for each framework."""
        return len(self.run.config.query_ids) * self.run.config.repeat

    @property
    def is_small(self) -> bool:
        """True where a page has the conclusions and the differences at once."""
        return self.trials_per_framework * len(self.run.config.frameworks) <= INLINE

    @property
    def common(self) -> Sequence[int] | None:
        """The queries and repeats that every framework has measured, to which figures are held; None for all."""
        return None if self.trials.common is None else self.trials.common.tolist()

    @property
    def leaves_out_first(self) -> bool:
        """Whether there are first trials that times leave out."""
        return self.trials.first_apart and bool((self.trials.first & self.trials.answered).any())

    @property
    def recordings(self) -> Mapping[str, Tokens]:
        """The tokens of frameworks that got recorded answers from the model."""
        every = {summary.framework: summary.tokens for summary in self._report.frameworks}
        return {name: tokens for name, tokens in every.items() if tokens.recorded_requests}

    @property
    def translations(self) -> Mapping[str, tuple[int, int]]:
        """The requests that were translated for the endpoint, and all, of frameworks with any of them."""
        every = {
            summary.framework: (summary.wire.translated.count, summary.tokens.requests)
            for summary in self._report.frameworks
        }
        return {name: found for name, found in every.items() if found[0]}

    def integrity(self, framework: str) -> Integrity:
        """Return the findings of a framework's trials, and whether they make its row void: then it has no figures."""

        def read() -> Integrity:
            found = framework_integrity(self.run.config, framework, self.trials.known.findings(framework))
            return replace(found, trials=len(self.trials.of(framework)))

        return self.once(("integrity", framework), read)

    def value(self, trial: TrialColumns, score: str) -> float | None:
        """Return the value of a score that counts: 0 for quality of a failed trial, None where there is none."""
        found = float(self._values(score)[self.trials.place(trial)])
        return None if math.isnan(found) else found

    def _values(self, score: str) -> NDArray[Any]:
        """The values of a score that count in each trial; nan for none, and in a row that is void."""

        def read() -> NDArray[Any]:
            found = self.trials.values(score)
            for name in self.run.config.frameworks:
                if self.integrity(name).void:
                    found[self.trials.of(name)] = math.nan
            return found

        return self.once(("values", score), read)

    def compared_trials(self, framework: str) -> TrialTable:
        """Return the trials of a framework with the scores that lead the pages, where these are finite."""
        import numpy as np

        found = self.trials.known.of(framework, self.headline)
        scores = {name: np.where(np.isfinite(column), column, np.nan) for name, column in found.scores.items()}
        return replace(found, scores=scores)

    @cached_property
    def _quality(self) -> list[str]:
        kinds = self.columns.kinds
        return [*dict.fromkeys([*ALWAYS, *(name for name in kinds if kinds[name].quality)])]

    def mean(self, framework: str, score: str) -> ScoreMean:
        """Return the mean of a score over a framework's trials, as the run's table has it."""
        return self._summary(framework, score) or NO_VALUE

    def median(self, framework: str, score: str) -> float | None:
        """Return the median of a figure over a framework's trials without failure, as the run's table has it."""
        found = self._summary(framework, score)
        return None if found is None else found.median

    @cached_property
    def _kept(self) -> Mapping[str, FrameworkHeadline] | None:
        return headlines(self.run, installed_listeners())

    def _summary(self, framework: str, score: str) -> ScoreSummary | None:
        if self._kept:
            return self._kept[framework].scores.get(score)
        if self.integrity(framework).void:
            return None
        return self.once(("summary", framework, score), lambda: self._summarise(framework, score))

    def _summarise(self, framework: str, score: str) -> ScoreSummary:
        """Sum up a score over the trials that count."""
        trials = self.trials
        own = trials.timed(framework) if score in TIMES else trials.of(framework)
        column = self._values(score)[own]
        own = own[trials.counting[own] & (column == column)]  # nan is unlike itself
        values = self._values(score)[own].tolist()
        kind = self.columns.kinds.get(score)
        bounded = (kind is not None and kind.bounded) or not trials.answered[own].any()
        within = bounded and all(0 <= value <= 1 for value in values)
        queries = trials.count_queries(own)
        return ScoreValues(score, values, queries, within).summary(quality=score in self._quality)

    def once(self, key: object, make: Callable[[], T]) -> T:
        """Return a value of these figures, which is made when it is first asked for."""
        if key not in self._known:
            self._known[key] = make()
        return cast("T", self._known[key])

    @property
    def headline(self) -> tuple[str, ...]:
        """The scores that lead the pages of the run."""
        return headline_of(self.run, self.columns.kinds)

    @property
    def conclusions(self) -> list[str]:
        """The results of the frameworks in sentences, those that say the same of several as one."""
        return join_alike((one.framework, str(one)) for one in conclusions(self._report))

    @property
    def missing(self) -> list[str]:
        """The reasons why trials were not measured, and how to run them, of a run that has ended without them."""
        if self.run.status != "incomplete":
            return []
        found = [
            f"{own.framework}: {line}"
            for own in (_with_missing_alone(summary) for summary in self._report.frameworks)
            for line in reason_lines(own)
        ]
        return [*found, f"To complete it: {how_to_complete(self._report.frameworks)}."] if found else []

    @property
    def worst_first(self) -> list[QueryId]:
        """The queries that ``bench show`` names as the worst, the worst first."""
        return [query.query_id for query in worst_queries(self._report)]

    @property
    def costs(self) -> list[str]:
        """The cost of each framework in a sentence, where it is known, and the use of models by helpers."""
        frameworks = [
            f"{summary.framework}: {_cost_text(summary)}"
            for summary in self._report.frameworks
            if summary.tokens.cost is not None
        ]
        return [*frameworks, *map(helper_line, self.run.record.helpers)]

    @property
    def factors(self) -> FactorEffects | None:
        """The effects of the run's factors; None where it has none."""
        several = any(name.startswith(f"{JUDGED}@") for name in self.columns.kinds)
        return self._report.factors if several or self.run.config.variations else None

    @property
    def _report(self) -> Report:
        return self.once(
            "report", lambda: stored_report(self.run, lambda: self.queries, listeners=installed_listeners())
        )

    def text(self, query_id: QueryId) -> str:
        """Return the task of a query; empty where it is not known."""
        query = self.queries.get(query_id) if self.queries else None
        return query.text if query else ""

    def worst(self, score: str) -> Iterator[tuple[float, QueryId]]:
        """Return each query that has the score with its mean over all frameworks, the worst first."""
        return self.trials.least(self._values(score), self.run.config.query_ids)


def _with_missing_alone(summary: Summary) -> Summary:
    missing = tuple(reason for reason in summary.failures if reason.status != "failed")
    return replace(summary, failures=missing, untold=())


def _cost_text(summary: Summary) -> str:
    """The cost of all trials and attempts of a framework, and of each that is solved, in words."""
    least = "at least " if summary.tokens.unreported else ""
    solved = summary.cost_per_solved
    each = "" if solved is None else f", {compact(solved)} USD for each that is solved"
    return f"{least}{compact(summary.tokens.cost)} USD for all trials{each}"
