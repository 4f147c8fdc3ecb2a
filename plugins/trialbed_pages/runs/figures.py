"""The figures on a run's pages, cached until the run changes."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from markupsafe import Markup

from trialbed.catalogs import run_queries
from trialbed.drivers import load_driver
from trialbed.errors import TrialbedError
from trialbed.plugins import installed_listeners
from trialbed.records import Query, leading_scores
from trialbed.report import Report, ScoreMean, lead_sentences, read_report
from trialbed.store import StoredRun, TrialRow, TrialTable
from trialbed.views import html_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

QueryId = int | str

T = TypeVar("T")

HEADLINE = ("sopr_score", "api_call_score")

NO_VALUE = ScoreMean(None, None, 0)
"""The mean of a score that no trial has."""


@dataclass(frozen=True)
class RunFigures:
    """A run with its report.

    Attributes:
        queries: the tasks, None if the dataset is out of reach or has changed.
    """

    run: StoredRun
    report: Report
    queries: Mapping[QueryId, Query] | None
    _known: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def trials(self) -> TrialTable:
        """The trials that count."""
        return self.report.table

    @property
    def quality(self) -> list[str]:
        """Return the scores in [0, 1], quality scores first."""
        kinds = self.trials.kinds
        return sorted((name for name in kinds if kinds[name].bounded), key=lambda name: not kinds[name].quality)

    @property
    def headline(self) -> tuple[str, ...]:
        """Return the leading scores of the run's pages, starting with its dataset's own measure, if any."""
        leading = dict.fromkeys([*leading_scores(self.run.record.scores), *HEADLINE])
        return tuple(name for name in leading if name in HEADLINE or name in self.trials.kinds)

    def mean(self, framework: str, score: str) -> ScoreMean:
        """Return the mean of a score over a framework's trials, as the run's table has it."""
        return self.report[framework].shown.get(score, NO_VALUE)

    def cell(self, framework: str, query: QueryId) -> list[TrialRow]:
        """Return the trials of a framework on a query, in the order of their repeats."""
        places = self._places.get((framework, query), ())
        return [self.trials.row(place) for place in places]

    @cached_property
    def _places(self) -> Mapping[tuple[str, QueryId], list[int]]:
        labels, queries, found = self.trials.labels, list(self.trials.queries), dict[tuple[str, QueryId], list[int]]()
        columns = (self.trials["framework"].tolist(), self.trials["query"].tolist())
        for place, (framework, query) in enumerate(zip(*columns, strict=True)):
            found.setdefault((labels[framework], queries[query]), []).append(place)
        return found

    def value(self, trial: TrialRow, score: str) -> float | None:
        """Return the value of a score that counts: 0 for quality of a failed trial, None without one."""
        found = float(self._values(score)[trial.place])
        return None if math.isnan(found) else found

    def _values(self, score: str) -> NDArray[Any]:
        """Return the counted values of a score in each trial; NaN if missing or in a void row."""

        def read() -> NDArray[Any]:
            found = self.trials.values(score, zeros=score in self.trials.quality)
            for place, name in enumerate(self.trials.labels):
                if self.report[name].integrity.void:
                    found[self.trials["framework"] == place] = math.nan
            return found

        return self.once(("values", score), read)

    def once(self, key: object, make: Callable[[], T]) -> T:
        """Return a value of these figures, which is made when it is first asked for."""
        if key not in self._known:
            self._known[key] = make()
        return cast("T", self._known[key])

    @property
    def conclusions(self) -> list[str]:
        """The sentences that every report of the run begins with."""
        return lead_sentences(self.report)

    def text(self, query_id: QueryId) -> str:
        """Return the task of a query; empty if it is not known."""
        query = self.queries.get(query_id) if self.queries else None
        return query.text if query else ""


@dataclass(frozen=True)
class Headline:
    """The figures of a run in the list of runs.

    Attributes:
        means: of the score for each framework, best first.
    """

    answered: int
    failed: int
    means: Sequence[tuple[str, ScoreMean]]


KEPT = 8
"""Number of cached runs."""

FRESH = 3.0
"""Seconds for which a run is assumed unchanged if its store has no change marker."""


class RunCache:
    """The figures of the most recently viewed runs; any thread may use it.

    Args:
        data_dir: the folder of datasets.
        queries: run -> its tasks, for runs without reading their dataset.
    """

    def __init__(self, data_dir: Path, queries: Mapping[str, Mapping[QueryId, Query]] = MappingProxyType({})) -> None:
        self._data_dir = data_dir
        self._queries: dict[str, Mapping[QueryId, Query] | None] = {**queries}
        self._kept = OrderedDict[tuple[str, str], tuple[object, Any]]()
        self._lock = threading.Lock()

    def of(self, run: StoredRun) -> RunFigures:
        """Return the figures of a run."""

        def read() -> RunFigures:
            queries = self.queries(run)
            return RunFigures(run, read_report(run, queries, installed_listeners()), queries)

        return self._once("figures", run, read)

    def headline(self, run: StoredRun) -> Headline:
        """Return the figures of a run in the list of runs."""
        of_trials = not leading_scores(run.record.scores) and run.status == "finished"
        found = run.headline() if of_trials or run.record.kind == "endpoints" else None
        if found is None:
            figures = self.of(run)
            ends = [(own.counts.answered, own.counts.failed) for own in figures.report.frameworks]
            score = figures.headline[0]
            means = [(name, figures.mean(name, score)) for name in run.config.frameworks]
        else:
            means = [(name, ScoreMean(mean, None, 0)) for name, (_, _, mean) in found.items()]
            ends = [(answered, failed) for answered, failed, _ in found.values()]
        ordered = sorted(means, key=lambda item: 1.0 if item[1].value is None else -item[1].value)
        return Headline(sum(one for one, _ in ends), sum(other for _, other in ends), ordered)

    def verification(self, run: StoredRun) -> Markup:
        """Return the page content of a verification, made by the component ``verification``."""
        made = load_driver("components", "verification").page_parts
        return self._once("verification", run, lambda: html_parts(run.run_id, made(run)))

    def _once(self, kind: str, run: StoredRun, read: Callable[[], T]) -> T:
        mark = run.mark or time.monotonic() // FRESH
        state = (mark, run.record.model_dump_json(include={"status", "tags", "note", "annotations"}))
        with self._lock:
            found = self._kept.get((kind, run.run_id))
        if found is not None and found[0] == state:
            return cast("T", found[1])
        value = read()
        with self._lock:
            self._kept[kind, run.run_id] = state, value
            self._kept.move_to_end((kind, run.run_id))
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return value

    def queries(self, run: StoredRun) -> Mapping[QueryId, Query] | None:
        """Return the tasks of a run; None if its dataset is out of reach or has changed."""
        with suppress(KeyError):
            return self._queries[run.run_id]
        found = None
        with suppress(TrialbedError, OSError):
            found = run_queries(run.config, self._data_dir)
        self._queries[run.run_id] = found
        return found
