"""The figures of a run, read from columns, so that pages of large runs are fast."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple, TypeVar, cast

from trialbed.records import Query, TrialStatus
from trialbed.report import (
    FactorEffects,
    Integrity,
    Report,
    ScoreSummary,
    Summary,
    Tokens,
    conclusions,
    framework_integrity,
    score_summaries,
)
from trialbed.report.kept import headlines, stored_report
from trialbed.scoring import (
    ALWAYS,
    JUDGED,
    absent_by_trials,
    absent_scores,
    common_pairs,
    first_trials_apart,
    timed_trials,
    zero_scores,
)
from trialbed.store import RunColumns, StoredRun, TrialColumns
from trialbed.views import compact, helper_line
from trialbed_pages.runs.headlines import FigureMean, figure_mean, headline_of

QueryId = int | str

T = TypeVar("T")

INLINE = 1_000
"""Trials up to which a page has the slower parts of a run at once; of larger runs they follow."""

TOKENS = "total_tokens"
COST = "cost"


class _Score(NamedTuple):
    """A score of a trial, as columns give it."""

    name: str
    value: float
    bounded: bool


class _ScoredTrial(NamedTuple):
    """A trial with its scores, as the functions of reports take it."""

    pair: tuple[QueryId, int]
    status: TrialStatus
    first: bool
    scores: Sequence[_Score]


@dataclass(frozen=True)
class RunFigures:
    """A run with the columns of its trials.

    Attributes:
        queries: the tasks, None where the dataset is out of reach or has changed.
    """

    run: StoredRun
    columns: RunColumns
    queries: Mapping[QueryId, Query] | None
    _known: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def cells(self) -> Mapping[tuple[str, QueryId], Sequence[TrialColumns]]:
        """The trials of each framework on each query, in the order of their repeats."""
        found: dict[tuple[str, QueryId], list[TrialColumns]] = {}
        for trial in self.columns.trials:
            found.setdefault((trial.key.framework, trial.key.query_id), []).append(trial)
        return {key: sorted(own, key=lambda trial: trial.key.repeat) for key, own in found.items()}

    @cached_property
    def by_framework(self) -> Mapping[str, Sequence[TrialColumns]]:
        """The trials of each framework, in the order in which they ended."""
        found: dict[str, list[TrialColumns]] = {name: [] for name in self.run.config.frameworks}
        for trial in self.columns.trials:
            found.setdefault(trial.key.framework, []).append(trial)
        return found

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

    @cached_property
    def common(self) -> frozenset[tuple[QueryId, int]] | None:
        """The queries and repeats that every framework has measured, to which figures are held; None for all."""
        return common_pairs(self.run.status, self.by_framework)

    @cached_property
    def first_apart(self) -> bool:
        """Whether times leave out the first trial of each worker."""
        return first_trials_apart(self.by_framework, self.common)

    @property
    def leaves_out_first(self) -> bool:
        """Whether there are first trials that times leave out."""
        return self.first_apart and any(trial.first for trial in self.columns.trials if trial.status == "answered")

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
            trials = self.by_framework.get(framework, ())
            return framework_integrity(self.run.config, framework, (trial.integrity for trial in trials))

        return self.once(("integrity", framework), read)

    def timed(self, framework: str) -> Sequence[TrialColumns]:
        """Return the trials of a framework whose times count."""
        if self.integrity(framework).void:
            return ()
        counted = [trial for trial in self.by_framework.get(framework, ()) if self._is_counted(trial)]
        return timed_trials(counted, first_apart=self.first_apart)

    def _is_counted(self, trial: TrialColumns) -> bool:
        return trial.status != "not measured" and (self.common is None or trial.pair in self.common)

    @cached_property
    def absent(self) -> Mapping[QueryId, Collection[str]]:
        """The scores that trials of a query cannot have."""
        if self.queries is not None:
            return absent_scores(self.queries.values())
        values = self.columns.values
        answered = (
            (trial.key.query_id, [name for name in values if trial.row in values[name]])
            for trial in self.columns.trials
            if trial.status == "answered"
        )
        return absent_by_trials(self.run.config.query_ids, answered)

    def value(self, trial: TrialColumns, score: str) -> float | None:
        """Return the value of a score that counts: 0 for quality of a failed trial, None where there is none."""
        if self.integrity(trial.key.framework).void:
            return None
        if trial.status == "answered":
            found = self.columns.values.get(score, {}).get(trial.row)
            return found if found is None or math.isfinite(found) else None
        counts = trial.status == "failed" and score in self._zeros(trial.key.query_id)
        return 0.0 if counts else None

    @cached_property
    def _quality(self) -> list[str]:
        kinds = self.columns.kinds
        return [*dict.fromkeys([*ALWAYS, *(name for name in kinds if kinds[name].quality)])]

    def _zeros(self, query: QueryId) -> Collection[str]:
        return self.once(("zeros", query), lambda: frozenset(zero_scores(self._quality, query, self.absent)))

    def mean(self, framework: str, score: str) -> FigureMean:
        """Return the mean of a score over a framework's trials, as the run's table has it."""
        return figure_mean(self._summaries(framework).get(score))

    def median(self, framework: str, score: str) -> float | None:
        """Return the median of a figure over a framework's trials with an answer, as the run's table has it."""
        found = self._summaries(framework).get(score)
        return None if found is None else found.median

    def _summaries(self, framework: str) -> Mapping[str, ScoreSummary]:
        return self.once(("summaries", framework), lambda: self._summarise(framework))

    def _summarise(self, framework: str) -> Mapping[str, ScoreSummary]:
        if kept := self.once("kept", lambda: headlines(self.run)):
            return kept[framework].scores
        if self.integrity(framework).void:
            return {}
        trials = [
            _ScoredTrial(trial.pair, trial.status, trial.first, self._scores(trial))
            for trial in self.by_framework.get(framework, ())
            if self._is_counted(trial)
        ]
        return score_summaries(trials, self._quality, self.absent, first_apart=self.first_apart)

    def _scores(self, trial: TrialColumns) -> list[_Score]:
        kinds = self.columns.kinds
        return [
            _Score(name, values[trial.row], name in kinds and kinds[name].bounded)
            for name, values in self.columns.values.items()
            if trial.row in values
        ]

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
        """The result of each framework in a sentence, as every output of the run begins."""
        return list(map(str, conclusions(self._report)))

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
        return self.once("report", lambda: stored_report(self.run, lambda: self.queries))

    def ends(self, framework: str) -> Counter[str]:
        """Count the trials by their status."""
        return Counter(trial.status for trial in self.by_framework.get(framework, ()))

    def failures(self, framework: str) -> Counter[str]:
        """Count the failed trials by the kind of their failure."""
        return Counter(trial.failure for trial in self.by_framework.get(framework, ()) if trial.failure)

    def text(self, query_id: QueryId) -> str:
        """Return the task of a query; empty where it is not known."""
        query = self.queries.get(query_id) if self.queries else None
        return query.text if query else ""

    def worst(self, score: str) -> Iterator[tuple[float, QueryId]]:
        """Yield each query that has the score with its mean over all frameworks, the worst first."""
        found = []
        for query_id in self.run.config.query_ids:
            values = [
                value
                for name in self.run.config.frameworks
                for trial in self.cells.get((name, query_id), ())
                if (value := self.value(trial, score)) is not None
            ]
            if values:
                found.append((fmean(values), query_id))
        # Queries of one mean stay in the run's order.
        yield from sorted(found, key=lambda item: item[0])


def _cost_text(summary: Summary) -> str:
    """The cost of all trials and attempts of a framework, and of each that is solved, in words."""
    least = "at least " if summary.tokens.unreported else ""
    solved = summary.cost_per_solved
    each = "" if solved is None else f", {compact(solved)} USD for each that is solved"
    return f"{least}{compact(summary.tokens.cost)} USD for all trials{each}"
